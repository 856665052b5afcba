import { GatewayError, invalidRequest } from "../../base/errors.ts";
import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import { skipSpace } from "../../dialects/json/json-bytes.ts";
import { scanObject } from "../../dialects/json/json-spans.ts";
import { patchMembers } from "../../dialects/json/patch.ts";

/** A frame that asks for a response. */
export interface CreateFrame {
  /** Null for the default lane. */
  readonly streamId: string | null;
  /** The response that it continues, if any. */
  readonly parentId: string | null;
  /** It is only to be remembered, for the request that continues it. */
  readonly isWarmUp: boolean;
  /** The body that POST takes. */
  readonly body: Uint8Array;
}

const laneNames = /^[\w.-]{1,256}$/;

/** What a socket adds to the body of a request, and what means nothing on one. */
const socketChanges = {
  type: undefined,
  stream_id: undefined,
  generate: undefined,
  stream_options: undefined,
  stream: true,
} as const;

const readNames = [...Object.keys(socketChanges), "previous_response_id"];

/** An event that asks for no response, and the answer to it. */
export class OtherEvent {
  readonly answer: JsonObject;

  constructor(answer: JsonObject) {
    this.answer = answer;
  }
}

/** A frame's event, or what is wrong with it. */
export function readFrame(frame: string | Uint8Array): CreateFrame | OtherEvent | FrameProblem {
  if (typeof frame !== "string") {
    return new FrameProblem(invalidRequest("Binary frames are not accepted; send JSON as text."), null);
  }
  let streamId: string | null = null;
  try {
    const bytes = Buffer.from(frame);
    const spans = scanObject(bytes, skipSpace(bytes, 0), readNames);
    const read = (name: string): Json | undefined => {
      const member = spans.members.find((each) => each.name === name);
      return member && JSON.parse(bytes.toString("utf8", member.valueStart, member.end));
    };
    const lane = read("stream_id") ?? null;
    if (typeof lane === "string") streamId = lane;
    const type = read("type");
    if (type === "response.steer") return new OtherEvent(steerFailed(JSON.parse(frame)));
    if (type !== "response.create") throw unknownType(type);
    if (lane !== null && !(typeof lane === "string" && laneNames.test(lane))) throw invalidStreamId();
    const parentId = read("previous_response_id");
    const body = patchMembers(bytes, socketChanges, spans);
    return {
      streamId,
      parentId: typeof parentId === "string" ? parentId : null,
      isWarmUp: read("generate") === false,
      body,
    };
  } catch (error) {
    const said = error instanceof SyntaxError ? invalidRequest("The frame is not valid JSON.") : error;
    if (said instanceof GatewayError) return new FrameProblem(said, streamId);
    throw error;
  }
}

export class FrameProblem {
  readonly error: GatewayError;
  /** The lane that the frame names, valid or not. */
  readonly streamId: string | null;

  constructor(error: GatewayError, streamId: string | null) {
    this.error = error;
    this.streamId = streamId;
  }
}

function unknownType(type: Json | undefined): GatewayError {
  const shown = typeof type === "string" ? JSON.stringify(type.slice(0, 100)) : "missing";
  return invalidRequest(`The event's \`type\` is ${shown}; send "response.create".`, "type");
}

function invalidStreamId(): GatewayError {
  const message = "`stream_id` must have 1 to 256 letters, digits, `_`, `-` or `.`.";
  return new GatewayError("invalid_stream_id", message, { param: "stream_id" });
}

/** Returns the input to the client, which may send it as a request of its own. */
function steerFailed(event: Json): JsonObject {
  const { previous_response_id: parentId, input } = isObject(event) ? event : {};
  return {
    type: "response.steer.failed",
    sequence_number: 0,
    error: {
      code: "steering_not_supported",
      message:
        "Responses cannot be steered here. Send the input with `response.create` once this one has ended.",
    },
    steer: { previous_response_id: parentId ?? null, input: input ?? null },
  };
}
