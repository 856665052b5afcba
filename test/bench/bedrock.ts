import { RequestSigner } from "../../src/vendors/aws/signature.ts";
import { SseTranscoder } from "../../src/vendors/bedrock/sse-transcoder.ts";
import { encodeEvent } from "../vendors/bedrock/encode-message.ts";
import { readBytes, timeOf } from "./cpu-time.ts";

/**
 * `bun test/bench/bedrock.ts`: what Bedrock costs beyond other providers, a signature for each request and the change of its
 * binary frames into server-sent events. In one process, without sockets: the processor's time alone.
 */
const signer = new RequestSigner(
  { accessKeyId: "AKIAEXAMPLE000000001", secretAccessKey: "a-secret-of-forty-letters", sessionToken: null },
  { region: "eu-central-1", service: "bedrock" },
);
const body = "x".repeat(1024);
const headers = {
  host: "bedrock-runtime.eu-central-1.amazonaws.com",
  "content-type": "application/json",
};
const target = "/model/eu.amazon.nova-pro-v1%3A0/converse";

function sign(): void {
  signer.sign({ method: "POST", target, headers, body }, Date.now());
}

const frames = 200;
const padding = "abcdefghijklmnopqrstuvwxyz0123456789";
const stream = Buffer.concat(
  Array.from({ length: frames }, (_, index) =>
    encodeEvent("contentBlockDelta", {
      contentBlockIndex: 0,
      delta: { text: "Water finds" },
      p: padding.slice(0, index % padding.length),
    }),
  ),
);

function transcode(): void {
  const transcoder = new SseTranscoder();
  for (let at = 0; at < stream.length; at += readBytes) transcoder.push(stream.subarray(at, at + readBytes));
  transcoder.end();
}

const rounds = 40;

/** The best of several rounds, since other programs on the machine can only make it slower. */
function measure(name: string, runs: number, run: () => void, aim: number): void {
  let best = Number.POSITIVE_INFINITY;
  for (let round = 0; round < rounds; round += 1) best = Math.min(best, timeOf(run, runs));
  console.log(`${name.padEnd(52)} ${best.toFixed(1).padStart(8)} µs, aim ${aim} µs`);
}

measure("signing a request of 1 KB", 1000, sign, 15);
measure(`a stream of ${frames} frames into server-sent events`, 200, transcode, 60);
