import type { ClientDialect } from "../contract/client-dialect.ts";
import type { ProviderErrorBody } from "../errors/error-body.ts";
import { type ClientErrorDetails, codeOf, vendorErrorOf, vendorPart } from "../errors/vendor-error.ts";

/**
 * The parts of a provider's error that the client gets, because its SDK acts on them. If the provider speaks the
 * client's dialect, these are all parts; otherwise only those that both dialects have a term for.
 */
export function explainProviderError(
  error: ProviderErrorBody,
  client: ClientDialect,
  isPassthrough: boolean,
): { readonly message: string; readonly details: ClientErrorDetails } {
  if (isPassthrough) return { message: error.message, details: vendorErrorOf(error) };
  const { invalidSignature } = client.errorFormat;
  const code = error.rejectsSignatures === true ? "invalid_encrypted_content" : codeOf(error);
  const isNamed = invalidSignature === undefined || error.message.includes("signature");
  return {
    message:
      error.rejectsSignatures === true && !isNamed ? `${invalidSignature}: ${error.message}` : error.message,
    details: { param: translateParam(error.param, client), ...vendorPart({ code }) },
  };
}

/** Equivalent fields of different names. */
const synonyms: readonly (readonly string[])[] = [
  ["messages", "input"],
  ["system", "instructions"],
  ["max_tokens", "max_completion_tokens", "max_output_tokens"],
  ["stop", "stop_sequences"],
  ["reasoning_effort", "reasoning", "thinking"],
  ["response_format", "text", "output_config"],
  ["safety_identifier", "user", "metadata"],
];

/** Translates only the field: positions inside the conversation or the tools may differ. Undefined if the client's dialect lacks it. */
function translateParam(param: string | undefined, { requestFields }: ClientDialect): string | undefined {
  const [field = ""] = param?.split(/[.[]/) ?? [];
  const names = [field, ...(synonyms.find((group) => group.includes(field)) ?? [])];
  return names.find((name) => Object.hasOwn(requestFields, name));
}
