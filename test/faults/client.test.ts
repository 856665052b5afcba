import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { drip, sse } from "../support/answers.ts";
import { configFor, configSecrets } from "../support/config.ts";
import { answerFrom } from "../support/fixtures.ts";
import { type ScriptedProvider, startProvider } from "../support/provider.ts";
import { connectRaw } from "../support/raw.ts";
import { type Sluice, startSluice, type TestKey } from "../support/sluice.ts";
import { StreamReader } from "../support/sse.ts";
import { waitFor } from "../support/wait.ts";
