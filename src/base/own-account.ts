/** The id of the account that is created with a key, for that key alone. */
export function ownAccountId(keyId: string): string {
  return `acc_${keyId.replace(/^key_/, "")}`;
}
