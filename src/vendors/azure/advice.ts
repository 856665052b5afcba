import { readRefusal } from "../../dialects/errors/refusal.ts";
import type { RefusedAnswer } from "../provider.ts";

/** What an operator should do about Azure's refusal of a small request. */
export function adviseOnAzure({ head, text }: RefusedAnswer, model: string): string | null {
  const { code, message } = readRefusal(head.status, head.get("content-type"), text);
  if (code === "DeploymentNotFound") {
    return `this deployment name does not exist in the resource: ${JSON.stringify(model)}; check upstream_model, or wait some minutes if it is new`;
  }
  switch (head.status) {
    case 401:
      return /principal|lacks/i.test(message)
        ? 'the identity lacks the role "Cognitive Services OpenAI User" on the resource'
        : "Azure does not accept the credential for this resource; check api_key (or the Entra settings) and resource";
    case 403:
      return "the resource allows only some networks or identities; check its network settings and roles";
    case 404:
      return "there is nothing at this address; check resource or base_url, and api_version";
    default:
      return null;
  }
}
