/**
 * The dialect whose clients continue a response by its id. Stored responses, conversations, compaction, responses in the background
 * and sockets are parts of its API.
 */
export const storedDialect = "responses";
