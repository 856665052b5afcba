import type { JsonObject } from "../../../src/base/json.ts";
import { type Answer, heldBefore } from "../../support/answers.ts";
import type { SeenRequest } from "../../support/provider.ts";
import { StreamReader } from "../../support/sse.ts";
import { waitFor } from "../../support/wait.ts";
import { type Answered, answer, type Item } from "../turn-world.ts";
import type { Caller, World } from "../world.ts";

export type Shown = Answered & JsonObject & { readonly data: readonly Item[] };

export interface Event {
  readonly type: string;
  readonly sequence_number: number;
  readonly response?: Shown;
}

/** How clients reach responses in the background. */
export class BackgroundClient {
  readonly #url: string;
  readonly #secret: string;

  constructor(url: string, { secret }: Pick<Caller, "secret">) {
    this.#url = url;
    this.#secret = secret;
  }

  static of(world: World, caller: Caller): BackgroundClient {
    return new BackgroundClient(world.running.url, caller);
  }

  fetch(
    method: string,
    path = "",
    body?: JsonObject,
    headers: Record<string, string> = {},
  ): Promise<Response> {
    return fetch(`${this.#url}/v1/responses${path}`, {
      method,
      headers: { authorization: `Bearer ${this.#secret}`, "content-type": "application/json", ...headers },
      ...(body && { body: JSON.stringify(body) }),
    });
  }

  async call(method: string, path: string, body?: JsonObject) {
    const response = await this.fetch(method, path, body);
    return { status: response.status, body: (await response.json()) as Shown };
  }

  async create(fields: JsonObject): Promise<Shown> {
    const { status, body } = await this.call("POST", "", {
      model: "gpt-test",
      input: "One",
      background: true,
      ...fields,
    });
    if (status !== 200) throw new Error(JSON.stringify(body));
    return body;
  }

  async get(id: string): Promise<Shown> {
    return (await this.call("GET", `/${id}`)).body;
  }

  async untilEnded(id: string): Promise<Shown> {
    await this.untilStatus(id, (status) => status !== "queued" && status !== "in_progress");
    return this.get(id);
  }

  async untilStatus(id: string, isIt: (status: string) => boolean): Promise<void> {
    await waitFor(async () => isIt((await this.get(id)).status), `${id} to change its status`);
  }

  /** The text of all its events from there on, once there are no more. */
  async events(id: string, after?: number): Promise<string> {
    const from = after === undefined ? "" : `&starting_after=${after}`;
    return (await this.fetch("GET", `/${id}?stream=true${from}`)).text();
  }
}

/** A stream that was just created: which response it is of, and all that comes, once it has ended. */
export async function begun(response: Response) {
  const reader = new StreamReader(response);
  await reader.until("response.created");
  const [id = ""] = /resp_\w{22}/.exec(reader.result().text) ?? [];
  const whole = async () => {
    while ((await reader.nextChunk()) !== null);
    return reader.result().text;
  };
  return { id, reader, whole };
}

export function parsed(events: string): readonly Event[] {
  return events
    .split("\n")
    .filter((line) => line.startsWith("data: {"))
    .map((line) => JSON.parse(line.slice("data: ".length)));
}

/** The usual answer, held before its end until it is let go. */
export function heldResponse() {
  const { promise, resolve } = Promise.withResolvers<void>();
  const ends = ["event: response.completed", "event: message_stop", "finishReason", "data: [DONE]"];
  const script = (request: SeenRequest): Answer => {
    const whole = answer(request);
    const text = whole.steps.map((step) => ("write" in step ? String(step.write) : "")).join("");
    const end = ends.find((each) => text.includes(each));
    return end === undefined ? whole : heldBefore(whole, end, promise);
  };
  return { script, release: resolve };
}
