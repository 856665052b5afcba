import type { ErrorDetails, VendorError } from "../../base/errors.ts";
import type { ProviderErrorBody } from "./error-body.ts";

/** The parts of an error that the client gets in addition to the message. */
export type ClientErrorDetails = Pick<ErrorDetails, "param" | "vendor">;

/** The parts of a provider's error that client SDKs act on. */
export function vendorErrorOf(error: ProviderErrorBody): ClientErrorDetails {
  return { param: error.param, ...vendorPart({ code: codeOf(error), details: error.details }) };
}

export function vendorPart(vendor: VendorError): { vendor?: VendorError } {
  return vendor.code === undefined && vendor.details === undefined ? {} : { vendor };
}

const legalCode = /^[a-z][a-z0-9_.-]{2,63}$/;
/** About the operator's account with the provider, which a client could take for its own. */
const accountCode = /api_key|auth|billing|credential|permission|quota|organization/;

/** Undefined for a number, as some servers send the status, and for what would mislead. */
export function codeOf({ code }: ProviderErrorBody): string | undefined {
  return code !== undefined && legalCode.test(code) && !accountCode.test(code) ? code : undefined;
}
