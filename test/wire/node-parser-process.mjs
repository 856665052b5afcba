/**
 * Reads answers with Node's own HTTP parser, to be run by Node. Takes a line of JSON for each answer (its bytes in
 * base64), which is all that a server says before it closes; prints a line of JSON on what has come of it.
 */

import { request } from "node:http";
import { createInterface } from "node:readline";
import { Duplex } from "node:stream";

/** A connection whose server says these bytes as soon as it is asked, and closes. */
function connectionThatSays(bytes) {
  return new Duplex({
    read() {},
    write(_request, _encoding, done) {
      done();
      if (this.hasAnswered) return;
      this.hasAnswered = true;
      this.push(bytes);
      this.push(null);
    },
  });
}

function read(bytes) {
  return new Promise((resolve) => {
    let answer = null;
    let problem = null;
    const pieces = [];
    const outgoing = request({ method: "POST", createConnection: () => connectionThatSays(bytes) });
    outgoing.on("response", (response) => {
      answer = response;
      response.on("data", (piece) => pieces.push(piece));
      response.on("error", () => {});
    });
    outgoing.on("error", (error) => {
      problem ??= error.code ?? error.message;
    });
    outgoing.on("upgrade", (_response, socket) => {
      problem = "UPGRADE";
      socket.destroy();
    });
    outgoing.on("close", () => {
      resolve({
        problem,
        status: answer?.statusCode ?? null,
        headers: answer?.rawHeaders ?? [],
        body: Buffer.concat(pieces).toString("latin1"),
        isComplete: answer?.complete ?? false,
      });
    });
    outgoing.end();
  });
}

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(await read(Buffer.from(JSON.parse(line), "base64")))}\n`);
}
