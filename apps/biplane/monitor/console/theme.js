// SPDX-License-Identifier: BSD-3-Clause
// The theme, set before the first paint: a module would run after it, and the page would flash.
"use strict";
(() => {
  const KEY = "biplane-theme";
  const dark = matchMedia("(prefers-color-scheme: dark)");
  let choice = "system";

  try {
    choice = localStorage.getItem(KEY) || "system";
  } catch {
    // storage is disabled: the choice lasts as long as the page
  }

  function apply() {
    const theme = choice === "system" ? (dark.matches ? "dark" : "light") : choice;
    document.documentElement.dataset.theme = theme;
  }

  apply();
  dark.addEventListener("change", apply);
  document.addEventListener("DOMContentLoaded", () => {
    const select = document.getElementById("theme");

    select.value = choice;
    if (select.selectedIndex < 0)
      select.value = choice = "system";
    select.addEventListener("change", () => {
      choice = select.value;
      apply();
      try {
        localStorage.setItem(KEY, choice);
      } catch {
        // as above
      }
    });
  });
})();
