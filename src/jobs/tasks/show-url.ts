/** A URL without the credentials it may carry, fit for people's eyes. */
export function showUrl(url: string): string {
  return hideCredentials(url).replace(/\?.*$/s, "?…");
}

/** A text without the credentials of any URL in it. */
export function hideCredentials(text: string): string {
  return text.replace(/\b([a-z][a-z0-9+.-]*:\/\/)[^/?#\s]*@/gi, "$1");
}
