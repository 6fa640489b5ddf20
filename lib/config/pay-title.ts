/**
 * The title of an order, which payers read at the provider and in the bills of their banks. One text goes to every provider, so it
 * keeps the narrowest rule of each.
 */
import * as kind from './scalars.ts'

/** WeChat Pay takes 127 characters and counts them in bytes in older pages; the others take more. */
const MOST_BYTES = 127

/**
 * Letters and digits of every script, spaces, and punctuation that no provider reads. Alipay forbids "special characters, such as
 * / = &" without a list of all, and what is outside the basic plane, emoji among it, its bills cannot write.
 */
const ALLOWED = /^[\p{L}\p{Mn}\p{Mc}\p{Nd} ._,()·，。、：（）【】《》「」—-]$/u
const VARIATION = /^[\uFE00-\uFE0F]$/u

const isAllowed = (character: string): boolean =>
  character.length === 1 && ALLOWED.test(character) && !VARIATION.test(character)

/** The first character that may not stand in a title, as a text that can be shown. */
function wrongIn(text: string): string | undefined {
  const wrong = [...text].find(character => !isAllowed(character))
  if (wrong === undefined) return undefined
  return /[\p{C}\p{Z}\p{M}]/u.test(wrong)
    ? `the character U+${wrong.codePointAt(0)?.toString(16).toUpperCase()}`
    : `“${wrong}”`
}

const isTitle = (text: string): boolean =>
  Buffer.byteLength(text) <= MOST_BYTES && /^\S(?:.*\S)?$/su.test(text) && wrongIn(text) === undefined

const EXPECTED = `1 to ${MOST_BYTES} bytes of letters, digits, spaces and . , - _ ( ), which every provider takes in a title`

export const payTitle = kind.scalar(
  value => {
    const wrong = typeof value === 'string' ? wrongIn(value) : undefined
    return wrong === undefined ? EXPECTED : `${EXPECTED}, and ${wrong} is none`
  },
  { type: 'string', minLength: 1, maxLength: MOST_BYTES },
  value => (typeof value === 'string' && isTitle(value) ? value : undefined),
)

const DEFAULT = 'API 充值'

/** Where the operator has none: payers know the shop by its address. `address`: as people reach it; undefined = nobody knows. */
export function titleOf(address: string | undefined): string {
  const host = address === undefined ? '' : new URL(address).hostname
  const shown = [...host].filter(isAllowed).join('')
  return shown === ''
    ? DEFAULT
    : `${DEFAULT} ${shown}`.slice(0, MOST_BYTES - (Buffer.byteLength(DEFAULT) - DEFAULT.length)).trim()
}
