import type { Json, JsonObject } from "../../src/base/json.ts";
import { type Item, TurnWorld } from "./turn-world.ts";

interface Answer {
  readonly status: number;
  readonly body: JsonObject & {
    readonly id: string;
    readonly data: readonly Item[];
    readonly error: { readonly code: string; readonly param: string | null; readonly message: string };
  };
}

/** A gateway that keeps conversations, and how a client reaches them. */
export class ConversationWorld {
  readonly turns: TurnWorld;

  constructor(turns: TurnWorld) {
    this.turns = turns;
  }

  static async start(): Promise<ConversationWorld> {
    return new ConversationWorld(await TurnWorld.start("[routes]\nconversations = true\n"));
  }

  readonly call = async (
    method: string,
    path: string,
    body?: Json,
    as = this.turns.caller,
  ): Promise<Answer> => {
    const headers = { authorization: `Bearer ${as.secret}`, "content-type": "application/json" };
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const url = `${this.turns.world.running.url}/v1/conversations${path}`;
    const response = await fetch(url, { method, headers, ...sent });
    return { status: response.status, body: (await response.json()) as Answer["body"] };
  };

  readonly begin = async (...items: JsonObject[]): Promise<string> =>
    (await this.call("POST", "", { items })).body.id;

  readonly itemsOf = async (id: string): Promise<readonly Item[]> =>
    (await this.call("GET", `/${id}/items?order=asc&limit=100`)).body.data;

  readonly textsOf = async (id: string) => (await this.itemsOf(id)).map(textOf);
}

/** What an item says, or its type if that is no message. */
export function textOf({ type, content }: JsonObject): string {
  if (type !== "message") return String(type);
  if (typeof content === "string") return content;
  return (content as { text: string }[]).map(({ text }) => text).join("");
}
