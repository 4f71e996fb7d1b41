// SPDX-License-Identifier: BSD-3-Clause
// Requests to the monitor of the gateway. All are GET; the token, if one is needed, goes into a header, never into a URL.

const KEY = "biplane-token";
const TIMEOUT_MS = 10000;
const MAX_EVENT = 65536; // characters of one event; longer ones are discarded

let token = "";

try {
  token = sessionStorage.getItem(KEY) || "";
} catch {
  // storage is disabled: the token lasts as long as the page
}

export function setToken(text) {
  token = text;
  try {
    sessionStorage.setItem(KEY, text);
  } catch {
    // as above
  }
}

export function hasToken() {
  return token !== "";
}

/** kind: `unreachable` (no answer), `token` (401) or `answer` (another status, or no JSON) */
export class ApiError extends Error {
  constructor(kind, message, status = 0) {
    super(message);
    this.kind = kind;
    this.status = status;
  }
}

function headers() {
  return token ? {Authorization: `Bearer ${token}`} : {};
}

async function request(path, signal) {
  let answer;

  try {
    answer = await fetch(path, {headers: headers(), signal, cache: "no-store", credentials: "omit", redirect: "error"});
  } catch (e) {
    throw new ApiError("unreachable", e.message);
  }
  if (answer.status === 401)
    throw new ApiError("token", "token required", 401);
  return answer;
}

/** The JSON of a path. `accept`: statuses besides 2xx whose body is an answer, such as 503 of /readyz. */
export async function get(path, accept = []) {
  const abort = new AbortController();
  const timer = setTimeout(() => abort.abort(), TIMEOUT_MS);

  try {
    const answer = await request(path, abort.signal);
    let body = null;

    try {
      body = await answer.json();
    } catch (e) {
      // the connection broke, or the body is not JSON
      if (abort.signal.aborted || e.name !== "SyntaxError")
        throw new ApiError("unreachable", e.message);
    }
    if (!answer.ok && !accept.includes(answer.status))
      throw new ApiError("answer", (body && body.error) || `status ${answer.status}`, answer.status);
    if (body === null || typeof body !== "object")
      throw new ApiError("answer", "the answer is not JSON", answer.status);
    return body;
  } finally {
    clearTimeout(timer);
  }
}

// One block of lines of the stream (HTML, section 9.2): `data:` lines form the event, all other fields have no use here.
function eventOf(block) {
  const data = block.split("\n").filter((line) => line.startsWith("data:")).map((line) => line.slice(5).replace(/^ /, ""));

  if (!data.length)
    return null;
  try {
    const event = JSON.parse(data.join("\n"));

    return event && typeof event === "object" ? event : null;
  } catch {
    return null;
  }
}

/** Takes text in any pieces, calls onEvent for each complete event. */
export class EventParser {
  constructor(onEvent) {
    this.onEvent = onEvent;
    this.rest = "";
    this.skips = false; // inside an event that is too long
    this.discarded = 0;
  }

  push(text) {
    const blocks = (this.rest + text).replace(/\r\n?/g, "\n").split("\n\n");

    this.rest = blocks.pop();
    for (const block of blocks) {
      const event = this.skips || block.length > MAX_EVENT ? null : eventOf(block);

      if (this.skips || block.length > MAX_EVENT)
        this.discarded += 1;
      this.skips = false;
      if (event)
        this.onEvent(event);
    }
    if (this.rest.length > MAX_EVENT) {
      this.rest = this.rest.slice(-1); // half of the empty line may be here
      this.skips = true;
    }
  }
}

/**
 * Server-sent events of a path until `signal` aborts or the stream ends. fetch() instead of EventSource, which sends no
 * header. Returns when the stream ended; throws ApiError when there is none.
 */
export async function stream(path, signal, onOpen, onEvent) {
  const answer = await request(path, signal);

  if (!answer.ok || !answer.body) {
    if (answer.body)
      await answer.body.cancel();
    throw new ApiError("answer", `status ${answer.status}`, answer.status);
  }
  onOpen();

  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  const parser = new EventParser(onEvent);

  try {
    for (;;) {
      const {value, done} = await reader.read();

      if (done)
        return;
      parser.push(value);
    }
  } catch (e) {
    throw new ApiError("unreachable", e.message);
  } finally {
    reader.cancel().catch(() => {});
  }
}
