/** An operation was rejected and nothing has changed. The message says what to do instead. */
export class OperationRefusal extends Error {
  override readonly name = "OperationRefusal";
  readonly reason: OperationRefusalReason;

  constructor(reason: OperationRefusalReason, message: string) {
    super(message);
    this.reason = reason;
  }
}

export function invalidInput(message: string): OperationRefusal {
  return new OperationRefusal("invalid_input", message);
}

type OperationRefusalReason =
  | "unknown_key"
  | "ambiguous_key"
  | "unknown_account"
  | "unknown_token"
  | "invalid_input"
  | "not_allowed"
  | "wrong_status"
  | "gateway_busy";
