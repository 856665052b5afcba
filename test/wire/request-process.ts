/**
 * Sends requests to a provider from a separate process: for settings that are read from the environment at start, and to
 * see that the process exits by itself. Takes a base URL and a number of requests. Prints a line of JSON per answer.
 */

import { createProvider } from "../../src/vendors/registry.ts";
import { collectResponse } from "../../src/wire/collect.ts";
import { prepared, providerSettings } from "../upstream/fixtures.ts";
import { codeOf } from "./recorder.ts";

const [baseUrl = "", times = "1"] = process.argv.slice(2);
const provider = createProvider(providerSettings({ baseUrl, apiKeys: ["sk-canary"] }));
const never = new AbortController();
const request = prepared({ body: '{"model":"m"}' });

async function requestRepeatedly(): Promise<void> {
  for (let time = 0; time < Number(times); time++) {
    const answer = collectResponse(
      (receiver) => provider.send(request, provider.credentials[0]?.use() ?? null, receiver, "key"),
      never.signal,
    );
    const told = answer.then(({ status, text }) => ({ status, text }));
    console.log(JSON.stringify(await told.catch((cause) => ({ code: codeOf(cause) }))));
  }
}

// Not awaited, so that only the connections keep the process alive.
requestRepeatedly();
