import { asBuffer, shared } from "../../base/bytes.ts";
import { GatewayError, invalidRequest, shortened } from "../../base/errors.ts";
import type { Json } from "../../base/json.ts";
import { skipSpace } from "../../dialects/json/json-bytes.ts";
import { scanObject } from "../../dialects/json/json-spans.ts";
import { patchMembers } from "../../dialects/json/patch.ts";
import type { Job } from "../body-worker/job.ts";

/** A frame that requests a response. */
export interface CreateFrame {
  readonly kind: "create";
  /** Null for the default stream. */
  readonly streamId: string | null;
  /** The response that it continues, if any. */
  readonly parentId: string | null;
  /** It is only remembered, for the request that continues it. */
  readonly isWarmUp: boolean;
  /** The body that POST takes. */
  readonly body: Uint8Array;
}

const streamNames = /^[\w.-]{1,256}$/;

/** Changes to a request's body on a socket: members to add, and members without a meaning there. */
const socketChanges = {
  type: undefined,
  stream_id: undefined,
  generate: undefined,
  stream_options: undefined,
  stream: true,
} as const;

const readNames = [...Object.keys(socketChanges), "previous_response_id", "input"];

/** The parsed contents of a frame. Plain data, because large frames are read on another thread. */
export type SocketFrame = CreateFrame | OtherEvent | FrameProblem;

/** An event that requests no response, and the reply to it. */
export interface OtherEvent {
  readonly kind: "other";
  readonly answer: string;
  readonly streamId: string | null;
}

export interface FrameProblem {
  readonly kind: "problem";
  readonly error: Pick<GatewayError, "code" | "message" | "param">;
  /** The stream that the frame names, valid or not. */
  readonly streamId: string | null;
}

/** A frame's event, or what is wrong with it. */
export function readFrame(frame: string | Uint8Array): SocketFrame {
  if (typeof frame !== "string") {
    return problemOf(invalidRequest("Binary frames are not supported. Send JSON as text."), null);
  }
  return readText(Buffer.from(frame));
}

/** Reads a large frame. */
export const frameJob: Job<Uint8Array, SocketFrame> = {
  name: "frame",
  run(bytes) {
    const read = readText(asBuffer(bytes));
    return read.kind === "create" ? { ...read, body: shared(read.body) } : read;
  },
};

/** Reads the bytes of a text frame. */
function readText(bytes: Buffer): SocketFrame {
  let streamId: string | null = null;
  try {
    const spans = scanObject(bytes, skipSpace(bytes, 0), readNames);
    const textOf = (name: string): string | undefined => {
      const member = spans.members.find((each) => each.name === name);
      return member && bytes.toString("utf8", member.valueStart, member.end);
    };
    const read = (name: string): Json | undefined => {
      const text = textOf(name);
      return text === undefined ? undefined : JSON.parse(text);
    };
    const stream = read("stream_id") ?? null;
    if (typeof stream === "string") streamId = shortened(stream);
    const type = read("type");
    if (type === "response.steer") {
      const answer = steerFailed(read("previous_response_id"), returnable(textOf("input")));
      return { kind: "other", answer, streamId };
    }
    if (type !== "response.create") throw unknownType(type);
    if (stream !== null && !(typeof stream === "string" && streamNames.test(stream))) throw invalidStreamId();
    const parentId = read("previous_response_id");
    const body = patchMembers(bytes, socketChanges, spans);
    return {
      kind: "create",
      streamId,
      parentId: typeof parentId === "string" ? parentId : null,
      isWarmUp: read("generate") === false,
      body,
    };
  } catch (error) {
    const clientError = error instanceof SyntaxError ? invalidRequest("The frame is not valid JSON.") : error;
    if (clientError instanceof GatewayError) return problemOf(clientError, streamId);
    throw error;
  }
}

function problemOf({ code, message, param }: GatewayError, streamId: string | null): FrameProblem {
  return { kind: "problem", error: { code, message, param }, streamId };
}

function unknownType(type: Json | undefined): GatewayError {
  const shown = typeof type === "string" ? JSON.stringify(type.slice(0, 100)) : "missing";
  return invalidRequest(`The event's \`type\` is ${shown}, but must be "response.create".`, "type");
}

function invalidStreamId(): GatewayError {
  const message = "`stream_id` must have 1 to 256 letters, digits, `_`, `-` or `.`.";
  return new GatewayError("invalid_stream_id", message, { param: "stream_id" });
}

/** A longer input is not returned: to see whether it is JSON takes too long for the event loop. */
const maxReturnedLength = 65_536;

function returnable(input = "null"): string {
  if (input.length > maxReturnedLength) return "null";
  JSON.parse(input);
  return input;
}

/** Returns the input to the client, which can send it as a separate request. */
function steerFailed(parentId: Json = null, input: string): string {
  const error = {
    code: "steering_not_supported",
    message:
      "Input cannot be added to a running response. Send it with `response.create` when this one ends.",
  };
  return `{"type":"response.steer.failed","sequence_number":0,"error":${JSON.stringify(error)},"steer":{"previous_response_id":${JSON.stringify(parentId)},"input":${input}}}`;
}
