import { Type } from "@sinclair/typebox";
import { sentence } from "../../base/text/sentence.ts";
import { configDifferences } from "../../config/differences.ts";
import type { ConfigOnDisk } from "../../config/on-disk.ts";
import { SignInsWouldEnd, signInLosses } from "../access/lost-sign-ins.ts";
import type { AdminDeps } from "../deps.ts";
import { AdminError } from "../formats/admin-error.ts";
import { type AdminRoute, get, post } from "../routes/route.ts";
import { changesText, configCheckDocument } from "./config-check.ts";
import { configTextDocument, runningConfigOf } from "./config-text.ts";
import { runningConfigView } from "./running-config.ts";
import {
  type ConfigCheckView,
  configCheckView,
  configReloadBody,
  configReloadView,
  configTextView,
} from "./schema.ts";

export const configRoutes: readonly AdminRoute[] = [
  get(
    "/config",
    "Show the running configuration with all defaults, secrets masked",
    { answers: Type.Object({}, { additionalProperties: true }) },
    ({ deps }) => runningConfigView(deps.settings()),
  ),
  get(
    "/config/toml",
    "Show the running configuration as TOML and JSON, without secrets",
    { answers: configTextView },
    ({ deps }) => configTextDocument(runningConfigOf(deps.settings())),
  ),
  get(
    "/config/check",
    "Check the configuration on disk and compare it with the running one",
    { answers: configCheckView },
    async ({ deps }) => checked(deps),
  ),
  post(
    "/config/reload",
    "Load the configuration on disk",
    { body: configReloadBody, answers: configReloadView },
    async ({ deps, body: { digest, suspend_keys: suspendsKeys } }) => {
      if (digest !== undefined) await rejectOther(deps, digest);
      const before = deps.settings().written;
      const { needsRestart, newSecrets } = await fileOf(deps).reload({ suspendsKeys }).catch(rejectedReload);
      const { written, source } = deps.settings();
      const file = source?.file ?? null;
      const changes = configDifferences(before, written);
      return {
        answer: { file, needs_restart: needsRestart, new_secrets: newSecrets, changes },
        change: { action: "config.reload", target: file, detail: changesText(changes) },
      };
    },
  ),
];

/** Throws unless the file still has the digest that was reviewed. */
async function rejectOther(deps: AdminDeps, digest: string): Promise<void> {
  const document = await checked(deps);
  const [first] = document.problems;
  if (first !== undefined) {
    throw new AdminError(409, "invalid_configuration", sentence(`${first.where}: ${first.message}`));
  }
  if (digest === document.digest) return;
  throw new AdminError(
    409,
    "config_changed",
    "The file has changed since it was checked, or a different gateway checked it. Check it again.",
  );
}

function rejectedReload(error: unknown): never {
  if (!(error instanceof SignInsWouldEnd)) throw error;
  throw new AdminError(409, "keys_would_be_suspended", sentence(error.message));
}

async function checked(deps: AdminDeps): Promise<ConfigCheckView> {
  const { settings, store } = deps;
  const found = await fileOf(deps).check();
  const losses = await signInLosses({ store }, (found.settings ?? settings()).admin);
  return configCheckDocument(found, settings().written, losses);
}

function fileOf({ configOnDisk }: AdminDeps): ConfigOnDisk {
  if (configOnDisk !== null) return configOnDisk;
  throw new AdminError(409, "no_file", "This gateway was started without a file to reload.");
}
