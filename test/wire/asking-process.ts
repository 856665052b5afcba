/**
 * Asks a provider, as a process of its own: for what is read from the environment at its start, and to see that
 * it ends by itself. Takes a base URL and how often to ask; prints a line of JSON for each answer.
 */

import { HttpProvider } from "../../src/providers/http-provider.ts";
import { openAi } from "../../src/providers/vendors.ts";
import { collectAnswer } from "../../src/wire/collect.ts";
import { providerSettings } from "../upstream/fixtures.ts";
import { codeOf } from "./recorder.ts";

const [baseUrl = "", times = "1"] = process.argv.slice(2);
const provider = new HttpProvider(providerSettings({ baseUrl }), openAi);
const never = new AbortController();
const prepared = { operation: "chat", body: '{"model":"m"}', headers: {} } as const;

async function askAgainAndAgain(): Promise<void> {
  for (let time = 0; time < Number(times); time++) {
    const answer = collectAnswer(
      (receiver) => provider.send(prepared, "sk-canary", receiver, "key"),
      never.signal,
    );
    console.log(JSON.stringify(await answer.catch((cause) => ({ code: codeOf(cause) }))));
  }
}

// Not awaited: the program is to be kept running by its connections alone.
askAgainAndAgain();
