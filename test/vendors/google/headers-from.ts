import { TokenSources } from "../../../src/vendors/credentials/token-sources.ts";
import { googleCredential } from "../../../src/vendors/google/credentials.ts";

/** The headers of a request with these credentials, whose token is fetched for it alone. */
export async function headersFrom(
  credentials: string,
  env: Record<string, string> = {},
): Promise<Readonly<Record<string, string>>> {
  const tokens = new TokenSources();
  const use = googleCredential("vertex", credentials, tokens, env).use();
  try {
    await use.prepare();
    return use.headers();
  } finally {
    tokens.stop();
  }
}
