import type { SeededRandom } from "../support/random.ts";
import type { Sluice, TestKey } from "../support/sluice.ts";
import { readStream } from "../support/sse.ts";

/** What one client saw of one exchange. */
export interface Sighting {
  readonly exchangeId: string;
  readonly key: TestKey;
  /** The end of the response was read; from then on its charge must survive anything. */
  readonly sawEnd: boolean;
  readonly idempotencyKey: string | null;
  readonly body: object;
  readonly text: string;
}

/** A client that asks again and again until its server is gone, and remembers what it saw. */
export class Witness {
  readonly key: TestKey;
  readonly sightings: Sighting[] = [];
  readonly #random: SeededRandom;
  #asked = 0;

  constructor(key: TestKey, random: SeededRandom) {
    this.key = key;
    this.#random = random;
  }

  async askUntilGone(sluice: Sluice): Promise<void> {
    for (;;) {
      const seen = await this.#ask(sluice).catch(() => null);
      if (seen === null) return;
      this.sightings.push(seen);
      if (!seen.sawEnd) return;
    }
  }

  async #ask(sluice: Sluice): Promise<Sighting> {
    this.#asked += 1;
    const idempotencyKey = this.#random.chance(0.3) ? `${this.key.id}-${this.#asked}` : null;
    const body = {
      model: "gpt-test",
      max_tokens: 100,
      stream: this.#random.chance(0.6),
      messages: [{ role: "user", content: `Question ${this.#asked}` }],
    };
    const headers = idempotencyKey === null ? {} : { "idempotency-key": idempotencyKey };
    const response = await sluice.request("/v1/chat/completions", { key: this.key, body, headers });
    if (response.status !== 200) throw new Error(`unexpected ${response.status}: ${await response.text()}`);
    const { text, failure } = await readStream(response);
    const isComplete = body.stream ? text.endsWith("data: [DONE]\n\n") : text.endsWith("}");
    const exchangeId = response.headers.get("x-request-id") ?? "missing";
    return { exchangeId, key: this.key, sawEnd: failure === null && isComplete, idempotencyKey, body, text };
  }
}
