import { shared } from "../../base/bytes.ts";
import type { JsonObject } from "../../base/json.ts";
import type { Source } from "../../dialects/contract/client-dialect.ts";
import type { Target } from "../../dialects/contract/provider-dialect.ts";
import { parseWhole } from "../../dialects/json/parse-body.ts";
import type { BodyChanges } from "../../dialects/json/patch.ts";
import {
  type ClientDialectName,
  clientDialect,
  type ProviderDialectName,
  providerDialect,
} from "../../dialects/registry.ts";
import { translate } from "../../dialects/translation/translate.ts";
import type { SerializedToolMapping, Translation } from "../../dialects/translation/translation.ts";
import { adaptObject, type BodyVendor } from "../../vendors/adapt-body.ts";
import type { Job } from "../body-worker/job.ts";

export interface TranslatedBody {
  readonly translation: Translation;
  readonly body: string;
  readonly dropped: readonly string[];
}

/** A request in the provider's dialect, as its vendor takes it. */
export function translateBody(source: Source, target: Target, vendor: BodyVendor | null): TranslatedBody {
  const translation = translate(source, target);
  const { body, dropped } = adaptObject(translation.body, vendor, translation.dropped);
  return { translation, body: JSON.stringify(body), dropped };
}

interface TranslateInput {
  readonly bytes: Uint8Array;
  readonly changes: BodyChanges;
  readonly client: ClientDialectName;
  readonly toward: ProviderDialectName;
  readonly source: Omit<Source, "dialect" | "body">;
  readonly target: Omit<Target, "dialect">;
  readonly vendor: BodyVendor | null;
}

/** A translated request, as data. */
interface TranslateResult {
  readonly body: Uint8Array;
  readonly dropped: readonly string[];
  /** The client's names of the response's tools. */
  readonly toolMapping: SerializedToolMapping;
}

/** Translates a large request. */
export const translateJob: Job<TranslateInput, TranslateResult> = { name: "translate", run: translateLarge };

/** Field names from the client are reported back to it, but not in full length. */
const maxNameLength = 200;

function translateLarge({ bytes, changes, client, toward, ...input }: TranslateInput): TranslateResult {
  const body: JsonObject = { ...parseWhole(bytes), ...changes };
  const source = { ...input.source, dialect: clientDialect(client), body };
  const target = { ...input.target, dialect: providerDialect(toward) };
  const { translation, body: written, dropped } = translateBody(source, target, input.vendor);
  return {
    body: shared(Buffer.from(written)),
    dropped: dropped.map((name) => name.slice(0, maxNameLength)),
    toolMapping: translation.serializeToolMapping(),
  };
}
