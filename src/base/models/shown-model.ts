const arn = /^arn:(?:[^:]*:){4}(.+)$/;

/**
 * A model's upstream name as logs, metrics, records and pages show it. That of a Bedrock profile is an ARN, which holds
 * the account's number: only what comes after it is shown, such as `application-inference-profile/abc`.
 */
export function shownModel(upstreamModel: string): string {
  return upstreamModel.startsWith("arn:") ? upstreamModel.replace(arn, "$1") : upstreamModel;
}
