/**
 * Makes a sentence of what is told to people: the tables and the operations name what is wrong in a phrase, often behind the
 * name of a field.
 */
const HAN = /\p{Script=Han}/u
/** A phrase that begins with the name of a field, which stays as it is written. */
const NAMED = /^[^\s:]+: /
const ENDED = /[.!?。！？…]$/

export function asSentence(phrase: string): string {
  const isChinese = HAN.test(phrase)
  const begun = isChinese
    ? phrase
    : NAMED.test(phrase)
      ? `Field ${phrase}`
      : phrase.charAt(0).toUpperCase() + phrase.slice(1)
  return ENDED.test(begun) ? begun : `${begun}${isChinese ? '。' : '.'}`
}
