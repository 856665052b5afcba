import { clockBehindMs, clockProblem } from "../credentials/clock-problem.ts";
import type { RefusedAnswer } from "../provider.ts";
import { exceptionOf, readBedrockRefusal } from "./refusal.ts";

/** What an operator should do about Bedrock's refusal of a small request. */
export function adviseOnBedrock(answer: RefusedAnswer, model: string, region: string): string | null {
  const { head, receivedAtMs } = answer;
  const { message } = readBedrockRefusal(answer);
  const name = JSON.stringify(model);
  switch (exceptionOf(answer)) {
    case "ExpiredTokenException":
      return 'the temporary key has expired; give a new one, or use credentials = "chain", which renews it';
    case "UnrecognizedClientException":
      return "AWS does not know this key; check access_key_id (or api_key, which is valid in one region only)";
    case "InvalidSignatureException":
      return (
        clockProblem(clockBehindMs(head.get("date"), receivedAtMs)) ??
        (/Signature (?:expired|not yet current)/i.test(message)
          ? "the clock is off; set it right"
          : "the secret does not belong to the key; check secret_access_key")
      );
    case "AccessDeniedException":
      // IAM names the action, bedrock:InvokeModel, which says nothing about the model.
      return /model/i.test(message) && !/not authorized to perform/i.test(message)
        ? `the model ${name} is not enabled in ${region}; ask for access in the Bedrock console, or check the IAM policy`
        : "the IAM policy does not allow bedrock:InvokeModel and bedrock:InvokeModelWithResponseStream";
    case "ResourceNotFoundException":
      return `there is no model ${name} in ${region}; check upstream_model and region`;
    case "ValidationException":
      if (/on-demand throughput/i.test(message))
        return `${name} needs an inference profile: write its id with the prefix of your region, such as eu. or us.`;
      return /model identifier is invalid|invalid model/i.test(message)
        ? `Bedrock does not know ${name}; check upstream_model`
        : null;
    default:
      return null;
  }
}
