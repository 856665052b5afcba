/** The refresh cannot be done; nothing was written. */
export class RefreshFailure extends Error {
  override readonly name = "RefreshFailure";
}
