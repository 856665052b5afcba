import { cutBefore, drip, openAiError, sse } from "../support/answers.ts";
import { answerFrom } from "../support/fixtures.ts";
import type { ScriptedProvider } from "../support/provider.ts";
import type { Sluice, TestKey } from "../support/sluice.ts";
import { readStream, StreamReader } from "../support/sse.ts";
import { waitFor } from "../support/wait.ts";

export const ask = { model: "gpt-test", messages: [{ role: "user", content: "Hello" }] };
const path = "/v1/chat/completions";

/** Drives the gateway through every way in which an exchange can end. */
export class Traffic {
  readonly #sluice: Sluice;
  readonly #provider: ScriptedProvider;

  constructor(sluice: Sluice, provider: ScriptedProvider) {
    this.#sluice = sluice;
    this.#provider = provider;
  }

  /** Its request id and status; the body is read to its end. */
  async call(key: TestKey, body: object = ask): Promise<{ readonly id: string; readonly status: number }> {
    const response = await this.#sluice.request(path, { key, body });
    await response.text();
    return { id: response.headers.get("x-request-id") ?? "", status: response.status };
  }

  async completed(key: TestKey): Promise<void> {
    this.#provider.script(null);
    await this.call(key);
  }

  async completedStream(key: TestKey): Promise<void> {
    this.#provider.script(null);
    await readStream(await this.#sluice.request(path, { key, body: { ...ask, stream: true } }));
  }

  /** The first attempt fails, the second is answered. */
  async completedAtSecondAttempt(key: TestKey): Promise<string> {
    this.#provider.script([openAiError(500, "not today"), answerFrom("chat/text.json")]);
    return (await this.call(key)).id;
  }

  async failedBeforeContent(key: TestKey): Promise<string> {
    this.#provider.script(openAiError(500, "the model is on fire"));
    return (await this.call(key)).id;
  }

  async failedAfterContent(key: TestKey): Promise<string> {
    this.#provider.script(
      cutBefore(answerFrom("chat/text.sse"), '"finish_reason":"stop"', [{ reset: true }]),
    );
    return (await this.call(key, { ...ask, stream: true })).id;
  }

  async refusedByProvider(key: TestKey): Promise<string> {
    this.#provider.script(openAiError(400, "temperature must be below 2"));
    return (await this.call(key)).id;
  }

  async cancelledAfterContent(key: TestKey): Promise<string> {
    const { reader, id } = await this.stream(key);
    const before = this.#provider.aborted.length;
    await reader.cancel();
    await waitFor(() => this.#provider.aborted.length > before, "the provider to see the end");
    return id;
  }

  async cancelledBeforeContent(key: TestKey): Promise<void> {
    this.#provider.script({ ...sse(""), steps: [{ stall: true }] });
    const before = { asked: this.#provider.requests.length, aborted: this.#provider.aborted.length };
    const leaving = new AbortController();
    const asked = this.#sluice.request(path, { key, body: { ...ask, stream: true }, signal: leaving.signal });
    await waitFor(() => this.#provider.requests.length > before.asked, "the provider to be asked");
    leaving.abort();
    await asked.then((response) => response.body?.cancel()).catch(() => undefined);
    await waitFor(() => this.#provider.aborted.length > before.aborted, "the provider to see the end");
  }

  /** A stream that has begun and goes on slowly. */
  async stream(key: TestKey): Promise<{ readonly reader: StreamReader; readonly id: string }> {
    this.#provider.script(drip(answerFrom("chat/text.sse"), 400));
    const response = await this.#sluice.request(path, { key, body: { ...ask, stream: true } });
    const reader = new StreamReader(response);
    await reader.until("Sluices");
    return { reader, id: response.headers.get("x-request-id") ?? "" };
  }
}
