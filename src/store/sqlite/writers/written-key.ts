/** The numbers of a key and of the account that pays, as the writers need them. */
export interface WrittenKey {
  readonly no: number;
  readonly accountNo: number;
}
