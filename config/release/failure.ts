/** What cannot be made, in words for the person who runs the release. */
export class ReleaseFailure extends Error {}
