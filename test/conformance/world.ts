import { afterAll, beforeAll, beforeEach } from "bun:test";
import { configFor } from "../support/config.ts";
import { type ScriptedProvider, startProvider } from "../support/provider.ts";
import { type KeyOptions, type Sluice, startSluice, type TestKey } from "../support/sluice.ts";
import { waitFor } from "../support/wait.ts";

/** What a conformance test stands on: the real program, a provider that does as told, and a key of each mode. */
export interface World {
  readonly sluice: Sluice;
  readonly provider: ScriptedProvider;
  readonly credit: TestKey;
  readonly token: TestKey;
  /** The two keys, for statements that hold on both origins. */
  readonly both: readonly TestKey[];
}

/** Providers that a test may ruin: the gateway remembers failures, so each of these is used once. */
const spareCount = 100;
let sparesUsed = 0;

/** A model of a provider of its own that no test has used yet; a `slow` one is given up after 0.3 s. */
export function spareModel(kind: "odd" | "slow" = "odd"): string {
  sparesUsed += 1;
  if (sparesUsed > spareCount) throw new Error("there are no spare models left");
  return `${kind}-${sparesUsed}`;
}

/** Models in addition to `configFor`'s, for cases that a healthy provider cannot produce. */
function moreModels(url: string, hasSpares: boolean): string {
  const add = (id: string, path: string, timeouts: string) => `
[providers.${id}]
kind = "openai-compatible"
base_url = "${path}"
dialects = ["chat", "responses", "messages"]
timeouts = { ${timeouts} }

[[models]]
id = "${id}"
provider = "${id}"
max_output_tokens = 4096
free = true
`;
  const patient = "connect = 10";
  const impatient = "first_byte = 0.3, stream_first_byte = 0.3, idle = 0.3";
  const spares = Array.from({ length: hasSpares ? spareCount : 0 }, (_, index) => [
    add(`odd-${index + 1}`, `${url}/odd/v1`, patient),
    add(`slow-${index + 1}`, `${url}/slow/v1`, impatient),
  ]);
  return `
[[models]]
id = "hidden-test"
provider = "openai"
public = false
free = true
${add("dead-test", "http://127.0.0.1:9/v1", patient)}
${add("short-test", `${url}/short/v1`, "total = 1")}
${spares.flat().join("")}
`;
}

interface WorldStart {
  readonly head?: string;
  /** With spare models, which take as long to load as everything else. */
  readonly hasSpares?: boolean;
}

/** One server and one provider for a file of tests; every test finds the provider in its usual mood. */
export function useWorld({ head, hasSpares = false }: WorldStart = {}): World {
  let world: World | undefined;
  const get = (): World => {
    if (world === undefined) throw new Error("the world is there once the tests run");
    return world;
  };
  beforeAll(async () => {
    sparesUsed = 0;
    const provider = startProvider();
    const config = configFor({
      url: provider.url,
      head: head ?? "[server]\nanonymous_rpm = 100000",
      tail: moreModels(provider.url, hasSpares),
    });
    const sluice = await startSluice({ config });
    const [credit, token] = await Promise.all([
      sluice.createKey({ mode: "credit" }),
      sluice.createKey({ mode: "token_budget" }),
    ]);
    await Promise.all([credit, token].map((key) => known(sluice, key)));
    world = { sluice, provider, credit, token, both: [credit, token] };
  }, 120_000);
  beforeEach(() => world?.provider.reset());
  afterAll(async () => {
    world?.provider.stop();
    await world?.sluice.dispose();
  });
  return {
    get sluice() {
      return get().sluice;
    },
    get provider() {
      return get().provider;
    },
    get credit() {
      return get().credit;
    },
    get token() {
      return get().token;
    },
    get both() {
      return get().both;
    },
  };
}

/** A key made while the server runs is the server's within a second; a test must not race that. */
export async function newKey(world: World, options: KeyOptions = {}): Promise<TestKey> {
  const key = await world.sluice.createKey(options);
  await known(world.sluice, key);
  return key;
}

async function known(sluice: Sluice, key: TestKey): Promise<void> {
  await waitFor(
    async () => (await sluice.request("/v1/models", { key })).status !== 401,
    "the server to know a new key",
  );
}
