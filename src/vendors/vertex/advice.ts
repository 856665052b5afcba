import type { RefusedAnswer } from "../provider.ts";
import type { ProviderSettings } from "../settings.ts";
import { defaultLocation } from "./address.ts";

/** What an operator should do about Vertex's refusal of a small request. */
export function adviseOnVertex(
  { head, text }: RefusedAnswer,
  model: string,
  { options }: Pick<ProviderSettings, "options">,
): string | null {
  const location = options.location ?? defaultLocation;
  switch (head.status) {
    case 401:
      return "Google does not accept the credential; check credentials";
    case 403:
      return /SERVICE_DISABLED|has not been used in project/.test(text)
        ? "the Vertex AI API is not enabled in the project; enable it in the console"
        : 'the account may not use Vertex AI in this project; give it the role "Vertex AI User"';
    case 404:
      return `the model ${JSON.stringify(model)} is not enabled in ${location}; enable it in the Model Garden, or try another location, such as global`;
    case 429:
      return "the project's quota for this model is used up; ask for more, or add a provider in another location";
    default:
      return null;
  }
}
