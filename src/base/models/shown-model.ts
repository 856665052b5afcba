const arn = /^arn:(?:[^:]*:){4}(.+)$/;

/**
 * A model's upstream name as logs, metrics, records and pages show it. A Bedrock profile's name is an ARN with the AWS
 * account number, so only the part after it is shown, such as `application-inference-profile/abc`.
 */
export function shownModel(upstreamModel: string): string {
  return upstreamModel.startsWith("arn:") ? upstreamModel.replace(arn, "$1") : upstreamModel;
}
