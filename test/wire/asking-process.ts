/**
 * Asks a provider, as a process of its own: for what is read from the environment at its start, and to see that
 * it ends by itself. Takes a base URL and how often to ask; prints a line of JSON for each answer.
 */

import { createProvider } from "../../src/vendors/registry.ts";
import { collectAnswer } from "../../src/wire/collect.ts";
import { prepared, providerSettings } from "../upstream/fixtures.ts";
import { codeOf } from "./recorder.ts";

const [baseUrl = "", times = "1"] = process.argv.slice(2);
const provider = createProvider(providerSettings({ baseUrl }));
const never = new AbortController();
const request = prepared({ body: '{"model":"m"}' });

async function askAgainAndAgain(): Promise<void> {
  for (let time = 0; time < Number(times); time++) {
    const answer = collectAnswer(
      (receiver) => provider.send(request, "sk-canary", receiver, "key"),
      never.signal,
    );
    console.log(JSON.stringify(await answer.catch((cause) => ({ code: codeOf(cause) }))));
  }
}

// Not awaited: the program is to be kept running by its connections alone.
askAgainAndAgain();
