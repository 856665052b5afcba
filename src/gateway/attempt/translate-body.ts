import type { Source } from "../../dialects/client-dialect.ts";
import type { Target } from "../../dialects/provider-dialect.ts";
import { translate } from "../../dialects/translation/translate.ts";
import type { Translation } from "../../dialects/translation/translation.ts";
import { adaptObject, type BodyVendor } from "../../vendors/adapt-body.ts";

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
