import type { Json, JsonObject } from "../../src/base/json.ts";
import { json, sse } from "../support/answers.ts";
import { usualResponse } from "../support/fixtures.ts";
import type { SeenRequest } from "../support/provider.ts";
import { dataOf, readStream } from "../support/sse.ts";
import { converseFrames, eventStream } from "../vendors/bedrock/fake-bedrock.ts";
import { type Caller, World } from "./world.ts";

const price = "price = { input = 1.0, output = 2.0 }";
export const turnTail = `
[providers.google]
kind = "gemini"
api_key = "env:TEST_OPENAI_KEY"
base_url = "PROVIDER_URL"

[[models]]
id = "gemini-test"
provider = "google"
upstream_model = "gemini-3.1-pro-preview"
${price}

[providers.aws]
kind = "bedrock"
api_key = "env:TEST_BEDROCK_KEY"
region = "eu-central-1"
base_url = "PROVIDER_URL/bedrock"
dialects = ["converse"]

[[models]]
id = "bedrock-test"
provider = "aws"
upstream_model = "amazon.nova-pro-v1:0"
${price}

[providers.proxy]
kind = "openai-compatible"
base_url = "PROVIDER_URL/proxy/v1"
dialects = ["responses"]

[[models]]
id = "proxy-test"
provider = "proxy"
upstream_model = "proxied"
${price}

[[models]]
id = "chat-test"
provider = "local"
upstream_model = "local-upstream"
${price}
`;

/** One for each provider dialect, the client's own first. */
export const models = ["gpt-test", "claude-test", "chat-test", "gemini-test", "bedrock-test"];

export const say = (text: string) => ({ type: "message", role: "user", content: text });

export type Item = JsonObject & { readonly id: string; readonly type: string };

export interface Answered {
  readonly id: string;
  readonly status: string;
  readonly store: boolean;
  readonly previous_response_id: string | null;
  readonly output: readonly Item[];
  readonly error: { readonly code: string; readonly param: string; readonly message: string };
}

/** A gateway whose providers speak every dialect, and two keys that continue responses. */
export class TurnWorld {
  readonly world: World;
  readonly caller: Caller;
  readonly other: Caller;

  private constructor(world: World, caller: Caller, other: Caller) {
    this.world = world;
    this.caller = caller;
    this.other = other;
  }

  static async start(head = ""): Promise<TurnWorld> {
    const world = await World.start({ head, tail: turnTail });
    return new TurnWorld(world, await world.creditCaller(), await world.creditCaller());
  }

  /** Before each test. */
  reset(): void {
    this.world.provider.reset();
    this.world.provider.script(answer);
  }

  readonly create = async (fields: JsonObject, as = this.caller): Promise<Answered> => {
    const body = { model: "gpt-test", ...fields };
    return (await (await this.world.ask(as, { path: "/v1/responses", body })).json()) as Answered;
  };

  readonly streamed = async (fields: JsonObject): Promise<Answered> => {
    const body = { model: "gpt-test", stream: true, ...fields };
    const response = await this.world.ask(this.caller, { path: "/v1/responses", body });
    const events = dataOf(await readStream(response)) as { type: string; response: Answered }[];
    const ended = events.find(({ type }) => type === "response.completed");
    if (ended === undefined) throw new Error("the stream has not ended");
    return ended.response;
  };

  readonly call = async (method: string, path: string, as = this.caller) => {
    const headers = { authorization: `Bearer ${as.secret}` };
    const response = await fetch(`${this.world.running.url}/v1/responses/${path}`, { method, headers });
    return {
      status: response.status,
      body: (await response.json()) as Answered & { data: Item[] } & JsonObject,
    };
  };

  readonly lastBody = () => this.world.provider.requests.at(-1)?.body ?? {};

  readonly lastText = () => this.world.provider.requests.at(-1)?.text ?? "";
}

let given = 0;

/** A provider of the Responses API gives every response and item an id of its own, and reasons in ciphertext. */
export function responseFrom({ body }: SeenRequest, output: Json = null): JsonObject {
  given += 1;
  const message = {
    id: `msg_given${given}`,
    type: "message",
    role: "assistant",
    status: "completed",
    content: [{ type: "output_text", text: `Answer ${given}.`, annotations: [] }],
  };
  const reasoning = {
    id: `rs_given${given}`,
    type: "reasoning",
    summary: [],
    encrypted_content: `sealed ${given}`,
  };
  return {
    id: `resp_given${given}`,
    object: "response",
    created_at: 1794700000,
    status: "completed",
    model: "gpt-upstream",
    output: output ?? [reasoning, message],
    store: body["store"] ?? true,
    previous_response_id: null,
    usage: { input_tokens: 20, output_tokens: 10, total_tokens: 30 },
  };
}

export function answer(request: SeenRequest) {
  const { path, body } = request;
  if (path.endsWith("/converse-stream")) return eventStream(...converseFrames);
  if (path.includes("/converse")) {
    return json({
      output: { message: { role: "assistant", content: [{ text: "Canals." }] } },
      stopReason: "end_turn",
      usage: { inputTokens: 20, outputTokens: 10, totalTokens: 30 },
    });
  }
  if (!path.endsWith("/responses")) return usualResponse(request);
  const response = responseFrom(request);
  if (body["stream"] !== true) return json(response);
  const event = (type: string, more: JsonObject) =>
    `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`;
  return sse(
    event("response.created", {
      sequence_number: 0,
      response: { ...response, status: "in_progress", output: [] },
    }) +
      event("response.output_text.delta", { sequence_number: 1, output_index: 1, delta: "Answer." }) +
      event("response.completed", { sequence_number: 2, response }),
  );
}
