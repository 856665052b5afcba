import { Type } from "@sinclair/typebox";
import { sentence } from "../../base/text/sentence.ts";
import { SignInsWouldEnd, signInLosses } from "../auth/lost-sign-ins.ts";
import type { AdminDeps } from "../deps.ts";
import { AdminError } from "../routes/refusal.ts";
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
    async ({ deps }) => (await checked(deps)).document,
  ),
  post(
    "/config/reload",
    "Load the configuration on disk",
    { body: configReloadBody, answers: configReloadView },
    async ({ deps, body: { digest, suspend_keys: suspendsKeys } }) => {
      const { document, onDisk } = await checked(deps);
      const { file, changes, problems } = document;
      const [first] = problems;
      if (first !== undefined) {
        throw new AdminError(409, "invalid_configuration", sentence(`${first.where}: ${first.message}`));
      }
      if (digest !== undefined && digest !== document.digest) {
        throw new AdminError(
          409,
          "config_changed",
          "The file has changed since it was checked, or a different gateway checked it. Check it again.",
        );
      }
      const { needsRestart, newSecrets } = await onDisk.reload({ suspendsKeys }).catch(rejectedReload);
      return {
        answer: { file, needs_restart: needsRestart, new_secrets: newSecrets, changes },
        change: { action: "config.reload", target: file, detail: changesText(changes) },
      };
    },
  ),
];

function rejectedReload(error: unknown): never {
  if (!(error instanceof SignInsWouldEnd)) throw error;
  throw new AdminError(409, "keys_would_be_suspended", sentence(error.message));
}

async function checked({ configOnDisk: onDisk, settings, store }: AdminDeps) {
  if (onDisk === null)
    throw new AdminError(409, "no_file", "This gateway was started without a file to reload.");
  const found = await onDisk.check();
  const losses = await signInLosses({ store }, (found.settings ?? settings()).admin);
  const document: ConfigCheckView = configCheckDocument(found, settings().written, losses);
  return { document, onDisk };
}
