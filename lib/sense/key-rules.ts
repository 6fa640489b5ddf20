/** Rules about the accounts and keys of a catalogue file. */
import { didYouMean } from '../config/yaml.ts'
import { inRow, type Rule } from './rule.ts'

/** CNY; more was hardly ever paid in advance. */
const MOST_BALANCE = 100_000_000
const MICRO = 1_000_000
/** `sk-` and what is hard to guess. */
const LEAST_SECRET = 16

const nameOf = ({ account, name }: { account: string; name: string }): string => `${account}/${name}`

export const KEY_RULES: Rule[] = [
  {
    name: 'key_group',
    severity: 'warned',
    about: 'A key in a group that its account may not use.',
    *find({ seen }) {
      const groups = new Map(seen.accounts.map(row => [row.name, row.groups]))
      for (const key of seen.keys) {
        const allowed = groups.get(key.account)
        if (allowed === undefined || allowed.includes(key.group)) continue
        const expected = `a group of account ${key.account} (${allowed.join(', ')})${didYouMean(key.group, allowed)}`
        yield inRow('keys', nameOf(key), ['group'], expected, key.group)
      }
    },
  },
  {
    name: 'empty_list',
    severity: 'warned',
    about: 'An empty list of models or addresses, with which nobody can use the key.',
    *find({ seen }) {
      for (const key of seen.keys)
        for (const [field, list] of [
          ['models', key.models],
          ['allow_ips', key.allowIps],
        ] as const)
          if (list?.length === 0)
            yield inRow(
              'keys',
              nameOf(key),
              [field],
              'at least one entry, because nobody can use a key with an empty list',
              null,
            )
    },
  },
  {
    name: 'key_model',
    severity: 'warned',
    about: 'A model of a key that no enabled channel serves.',
    *find(sight) {
      const served = new Set(sight.served)
      for (const key of sight.seen.keys)
        for (const [j, model] of (key.models ?? []).entries())
          if (!served.has(model))
            yield inRow(
              'keys',
              nameOf(key),
              ['models', j],
              `a model that an enabled channel serves${didYouMean(model, served)}`,
              model,
            )
    },
  },
  {
    name: 'short_secret',
    severity: 'warned',
    about: `A key whose secret has fewer than ${LEAST_SECRET} characters.`,
    *find({ seen }) {
      for (const key of seen.keys)
        if (key.secret.length < LEAST_SECRET && key.status === 'enabled')
          yield inRow(
            'keys',
            nameOf(key),
            ['secret'],
            `at least ${LEAST_SECRET} characters, because strangers try short ones`,
            key.secret,
            { hidden: true },
          )
    },
  },
  {
    name: 'expired_key',
    severity: 'warned',
    about: 'A key that has expired already.',
    *find({ seen }) {
      for (const key of seen.keys)
        if (key.expiresAtMs !== null && key.expiresAtMs <= seen.nowMs && key.status === 'enabled')
          yield inRow('keys', nameOf(key), ['expires_at'], 'a time to come, or status: disabled', key.expiresAtMs)
    },
  },
  {
    name: 'large_balance',
    severity: 'warned',
    about: `An opening balance above ${MOST_BALANCE} CNY.`,
    *find({ seen }) {
      for (const { name, balance } of seen.accounts)
        if (balance !== null && balance > MOST_BALANCE * MICRO)
          yield inRow('accounts', name, ['balance'], `at most ${MOST_BALANCE} CNY`, balance)
    },
  },
  {
    name: 'addresses_behind_proxy',
    severity: 'warned',
    about:
      'A key for certain addresses, where a proxy stands in front that is not in `trusted_proxies`: every client has the address of the proxy.',
    *find({ seen }) {
      const { config } = seen
      if (config === null || !isBehindProxy(config) || config.trustedProxies.length > 0) return
      for (const key of seen.keys)
        if (key.allowIps !== null && key.allowIps.length > 0)
          yield inRow(
            'keys',
            nameOf(key),
            ['allow_ips'],
            'addresses of clients, which are not known: public.main is https, and the proxy that speaks it is not in trusted_proxies',
            key.allowIps,
          )
    },
  },
]

/** The gateway itself speaks no TLS, so somebody does who is in front of it. */
export const isBehindProxy = ({ public: { main } }: { public: { main: string } }): boolean => main.startsWith('https:')
