// SPDX-License-Identifier: BSD-3-Clause
// A client with mqtt.js: publishes an allowed, a refused and an allowed message, each after the acknowledgement of the one before, and prints
// what it sees as lines. mqtt_client.js HOST TCP_PORT VERSION CLIENT_ID
const [host, port, version, clientId] = process.argv.slice(2);
const client = require("mqtt").connect({ host, port: Number(port), clientId, protocolVersion: Number(version), protocolId: "MQTT", reconnectPeriod: 0 });
const topics = ["plant/open/1", "plant/secret/x", "plant/open/2"];

function next() {
  const topic = topics.shift();
  if (topic === undefined) return client.end();
  client.publish(topic, `${clientId} ${topic}`, { qos: 1 }, (error) => {
    if (error) return console.log(`error ${error.message}`);
    console.log(`acknowledged ${topic}`);
    next();
  });
}

client.on("connect", next);
client.on("disconnect", (packet) => console.log(`disconnect ${packet.reasonCode}`));
client.on("error", (error) => console.log(`error ${error.code}`));
client.on("close", () => { console.log("closed"); client.end(true); });
