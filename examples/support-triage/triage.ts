/** Where a message of a customer goes. A stand-in for a model: it looks for words. */
export async function triage(message: string): Promise<{ queue: string; urgent: boolean }> {
  const text = message.toLowerCase();
  const queue = /invoice|refund|charged/.test(text)
    ? "billing"
    : /crash|error|login/.test(text)
      ? "technical"
      : "general";
  return { queue, urgent: /now|immediately|!!/.test(text) };
}
