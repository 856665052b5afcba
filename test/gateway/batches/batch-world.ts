import type { JsonObject } from "../../../src/base/json.ts";
import { waitFor } from "../../support/wait.ts";
import type { Caller, World } from "../world.ts";

export interface ShownBatch {
  readonly id: string;
  readonly status: string;
  readonly input_file_id: string;
  readonly output_file_id: string | null;
  readonly error_file_id: string | null;
  readonly request_counts: { readonly total: number; readonly completed: number; readonly failed: number };
  readonly usage: { readonly input_tokens: number; readonly output_tokens: number };
  readonly errors: {
    readonly data: readonly { readonly code: string; readonly line: number | null }[];
  } | null;
  readonly model?: string;
  readonly sluice: {
    readonly state: string;
    readonly reason: string | null;
    readonly charged: number;
    readonly estimate: number | null;
  };
  readonly error: { readonly code: string; readonly message: string; readonly param: string | null };
}

export interface ResultLine {
  readonly id: string;
  readonly custom_id: string;
  readonly response: {
    readonly status_code: number;
    readonly request_id: string;
    readonly body: JsonObject;
  } | null;
  readonly error: { readonly code: string } | null;
}

export interface Line {
  readonly custom_id?: string;
  readonly method?: string;
  readonly url?: string;
  readonly body?: JsonObject;
}

/** How clients reach batches. */
export class BatchClient {
  readonly #url: string;
  readonly #secret: string;

  constructor(url: string, { secret }: Pick<Caller, "secret">) {
    this.#url = url;
    this.#secret = secret;
  }

  static of(world: World, caller: Caller): BatchClient {
    const origin = caller.key.mode === "credit" ? "" : "/token";
    return new BatchClient(world.running.url + origin, caller);
  }

  fetch(
    method: string,
    path: string,
    body?: JsonObject,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Response> {
    return fetch(`${this.#url}/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${this.#secret}`, "content-type": "application/json", ...headers },
      ...(body && { body: JSON.stringify(body) }),
    });
  }

  async call<Body = ShownBatch>(
    method: string,
    path: string,
    body?: JsonObject,
    headers: Readonly<Record<string, string>> = {},
  ) {
    const response = await this.fetch(method, path, body, headers);
    return { status: response.status, body: (await response.json()) as Body };
  }

  async upload(
    content: string,
    fields: Readonly<Record<string, string>> = {},
    headers: Readonly<Record<string, string>> = {},
    name = "input.jsonl",
  ) {
    const form = new FormData();
    for (const [name, value] of Object.entries({ purpose: "batch", ...fields })) form.set(name, value);
    form.set("file", new Blob([content]), name);
    const response = await fetch(`${this.#url}/v1/files`, {
      method: "POST",
      headers: { authorization: `Bearer ${this.#secret}`, ...headers },
      body: form,
    });
    const body = (await response.json()) as JsonObject & ShownBatch;
    return { status: response.status, body };
  }

  async create(lines: readonly Line[] | string, endpoint = "/v1/chat/completions"): Promise<ShownBatch> {
    const { status, body } = await this.tryToCreate(lines, endpoint);
    if (status !== 200) throw new Error(JSON.stringify(body));
    return body;
  }

  async tryToCreate(lines: readonly Line[] | string, endpoint = "/v1/chat/completions") {
    const content = typeof lines === "string" ? lines : contentOf(lines, endpoint);
    const { body: file } = await this.upload(content);
    const body = { input_file_id: file.id, endpoint, completion_window: "24h" };
    return this.call("POST", "/batches", body);
  }

  async get(id: string): Promise<ShownBatch> {
    return (await this.call("GET", `/batches/${id}`)).body;
  }

  async until(id: string, isIt: (batch: ShownBatch) => boolean): Promise<ShownBatch> {
    let batch = await this.get(id);
    await waitFor(
      async () => {
        batch = await this.get(id);
        return isIt(batch);
      },
      `${id} to change (${JSON.stringify(batch)})`,
    );
    return batch;
  }

  untilEnded(id: string): Promise<ShownBatch> {
    return this.until(id, ({ sluice }) => sluice.state === "ended");
  }

  async content(fileId: string | null): Promise<readonly ResultLine[]> {
    if (fileId === null) return [];
    const text = await (await this.fetch("GET", `/files/${fileId}/content`)).text();
    return text
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line) as ResultLine);
  }

  /** All results, of both files. */
  async results({ output_file_id, error_file_id }: ShownBatch): Promise<readonly ResultLine[]> {
    return [...(await this.content(output_file_id)), ...(await this.content(error_file_id))];
  }
}

export function contentOf(lines: readonly Line[], endpoint: string): string {
  return lines
    .map((line, place) =>
      JSON.stringify({ custom_id: `line-${place}`, method: "POST", url: endpoint, ...line }),
    )
    .join("\n");
}

/** So many lines that ask one thing each. */
export function chatLines(count: number, fields: JsonObject = {}): readonly Line[] {
  return Array.from({ length: count }, (_, place) => ({
    body: {
      model: "gpt-test",
      max_tokens: 20,
      messages: [{ role: "user", content: `Question ${place}` }],
      ...fields,
    },
  }));
}
