/**
 * What is left of an operator's money at a provider, for the kinds that have a call that tells it to whoever holds a key. Paths,
 * members and currencies are those of the providers' own pages. Each reader takes the parsed answer and returns nothing where that
 * has not the form which is documented, so that a change of theirs is seen as an unknown balance and not as an empty one.
 */

/** An amount of a currency, in millionths. */
export interface MoneyLeft {
  amount: number
  currency: string
}

export interface BalanceCall {
  /** From the provider's host on; the key is sent as `authorization: Bearer KEY`. */
  path: string
  /** `host`: that of the address, which names the currency where the answer does not. */
  read(answer: unknown, host: string): MoneyLeft | null
}

type Members = Readonly<Record<string, unknown>>

const members = (value: unknown): Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Members) : {}

/** A number, or a text of one, in millionths. */
function millionthsOf(value: unknown): number | null {
  if (typeof value !== 'number' && !(typeof value === 'string' && /^-?\d+(?:\.\d+)?$/.test(value))) return null
  const amount = Math.round(Number(value) * 1_000_000)
  return Number.isSafeInteger(amount) ? amount : null
}

const moneyLeft = (amount: number | null, currency: unknown): MoneyLeft | null =>
  amount !== null && typeof currency === 'string' && /^[A-Z]{3}$/.test(currency) ? { amount, currency } : null

/** Providers with a site for China and one for the rest of the world charge in the currency of the site. */
const currencyOf = (host: string): string => (host.endsWith('.cn') ? 'CNY' : 'USD')

export const BALANCE_CALLS = {
  deepseek: {
    path: '/user/balance',
    read(answer) {
      const { balance_infos: infos } = members(answer)
      const all = Array.isArray(infos) ? infos.map(members) : []
      // an account has one currency, and perhaps a row of 0 in the other
      const known = all.flatMap(one => moneyLeft(millionthsOf(one['total_balance']), one['currency']) ?? [])
      return known.find(({ amount }) => amount !== 0) ?? known[0] ?? null
    },
  },
  moonshot: {
    path: '/v1/users/me/balance',
    read: (answer, host) =>
      moneyLeft(millionthsOf(members(members(answer)['data'])['available_balance']), currencyOf(host)),
  },
  siliconflow: {
    path: '/v1/user/info',
    read: (answer, host) => moneyLeft(millionthsOf(members(members(answer)['data'])['totalBalance']), currencyOf(host)),
  },
  openrouter: {
    path: '/api/v1/credits',
    read(answer) {
      const { total_credits: credits, total_usage: used } = members(members(answer)['data'])
      const [had, spent] = [millionthsOf(credits), millionthsOf(used)]
      return had === null || spent === null ? null : moneyLeft(had - spent, 'USD')
    },
  },
} satisfies Record<string, BalanceCall>
