/**
 * Names of models brought into one form, so that the names of an operator can be compared with those of a public list:
 * `us.anthropic.claude-sonnet-4-5-20250929-v1:0` and `claude-sonnet-4-5` are the same model, of the family `claude-sonnet`.
 */

/** Parts that say how or by whom a model is served, or which snapshot of it, and not which model it is. */
const SNAPSHOT = /(?:[@-]\d{8}|-\d{4}-\d{2}-\d{2}|-v\d+(?::\d+)?|:[\w.-]+|-latest|-(?:preview|exp)(?:-\d{2}-\d{2,4})?)$/

/** The model's own name: without provider, region and snapshot, in lower case. */
export function plainName(name: string): string {
  let plain = name.toLowerCase().split('/').at(-1) as string
  plain = plain.replace(
    /^(?:[a-z]{2,6}\.)?(?:anthropic|amazon|meta|mistral|cohere|deepseek|qwen|openai|ai21|moonshotai?|zai)\./,
    '',
  )
  for (let before = ''; before !== plain; ) {
    before = plain
    plain = plain.replace(SNAPSHOT, '')
  }
  return plain
}

/**
 * The families that a name may belong to, the narrowest first: its words without numbers, then fewer of them from the end.
 * `gpt-5.2-mini` gives `gpt-mini` and `gpt`.
 */
export function familiesOf(name: string): string[] {
  const words = plainName(name)
    .split(/[-_. ]+/)
    .map(word => word.replace(/\d.*$/, ''))
    .filter(word => word.length > 1 || word === 'o')
  return words.map((_, i) => words.slice(0, words.length - i).join('-'))
}
