// biome-ignore-all lint/suspicious/noTemplateCurlyInString: that is how our YAML files name variables
/** Rules about channels: where they lead, with which keys, and whether they are ever asked. */
import { FINISH_WORDS } from '../protocols/words/finish-words.ts'
import { KINDS, kindLike, type ProviderKind } from '../protocols/words/kinds.ts'
import { protocolRow } from '../protocols/table.ts'
import type { Channel } from '../terms/records.ts'
import type { Config, Listener } from '../config/config.ts'
import { didYouMean } from '../config/yaml.ts'
import { upstreamCredential, type KindName, protocolEnding } from '../catalog-file/upstreams.ts'
import { whereIs } from './hosts.ts'
import { type Found, inCatalog, inConfig, inRow, type Rule } from './rule.ts'
import type { Sight } from './sight.ts'
import { isPlaceholder } from './words.ts'

/** Hosts of providers whose kind a channel should name, because paths and headers depend on it. */
const HOSTS: readonly [host: RegExp, kind: KindName][] = [
  [/^api\.anthropic\.com$/, 'anthropic'],
  [/^api\.openai\.com$/, 'openai'],
  [/^generativelanguage\.googleapis\.com$/, 'gemini'],
  [/\.openai\.azure\.com$/, 'azure'],
  [/^api\.cerebras\.ai$/, 'cerebras'],
  [/^api\.cohere\.(?:com|ai)$/, 'cohere'],
  [/^dashscope(?:-intl|-us)?\.aliyuncs\.com$/, 'dashscope'],
  [/^api\.deepinfra\.com$/, 'deepinfra'],
  [/^api\.deepseek\.com$/, 'deepseek'],
  [/^api\.fireworks\.ai$/, 'fireworks'],
  [/^api\.groq\.com$/, 'groq'],
  [/^api\.mistral\.ai$/, 'mistral'],
  [/^api\.moonshot\.(?:cn|ai)$/, 'moonshot'],
  [/^openrouter\.ai$/, 'openrouter'],
  [/^api\.perplexity\.ai$/, 'perplexity'],
  [/^api\.siliconflow\.(?:cn|com)$/, 'siliconflow'],
  [/^api\.together\.(?:xyz|ai)$/, 'together'],
  [/^ark\.[a-z-]+\.volces\.com$/, 'volcengine'],
  [/^api\.x\.ai$/, 'xai'],
  [/^(?:open\.bigmodel\.cn|api\.z\.ai)$/, 'zhipu'],
]

/** What of its kind's texts nobody has recorded, where the channel has any. */
function unrecordedOf({ kind, protocols }: Channel): ProviderKind['unrecorded'] {
  const writesText = protocols.some(protocol => Object.hasOwn(FINISH_WORDS, protocol))
  return kind === null || !writesText ? undefined : (KINDS[kindLike(kind)] as ProviderKind).unrecorded
}

/** Kinds that share hosts with others, or hosts that belong to more than one kind. */
const ALIKE: Partial<Record<KindName, readonly KindName[]>> = {
  azure: ['azure-deployments', 'azure-entra', 'azure-deployments-entra'],
}

const hostOf = ({ baseUrl }: Channel): string => new URL(baseUrl).hostname

/** Where clients reach this gateway: `host:port`, a listener on every address under the name of this machine. */
function* ownAddresses({
  listen,
  public: reached,
}: Config): Generator<{ name: string; listener?: Listener; origin?: string }> {
  for (const name of ['main', 'direct', 'ops'] as const) yield { name: `listen.${name}`, listener: listen[name] }
  for (const name of ['main', 'direct'] as const)
    yield { name: `public.${name}`, origin: new URL(reached[name]).origin }
}

function leadsTo(url: URL, { listener, origin }: { listener?: Listener; origin?: string }): boolean {
  if (origin !== undefined) return url.origin === origin
  if (listener === undefined || listener.port === 0 || portOf(url) !== listener.port) return false
  const [asked, own] = [url.hostname.replace(/^\[|\]$/g, ''), listener.host]
  const every = own === '0.0.0.0' || own === '::'
  if (whereIs(asked) === 'here') return every || whereIs(own) === 'here'
  return asked === own
}

const portOf = ({ port, protocol }: URL): number => Number(port) || (protocol === 'https:' ? 443 : 80)

function* loops({ seen }: Sight): Generator<Found> {
  const { config } = seen
  if (config === null) return
  for (const channel of seen.channels) {
    const own = [...ownAddresses(config)].find(address => leadsTo(new URL(channel.baseUrl), address))
    if (own !== undefined && channel.status === 'enabled')
      yield inRow(
        'channels',
        channel.name,
        ['base_url'],
        `the address of an upstream: ${own.name} is this gateway itself`,
        channel.baseUrl,
      )
  }
}

/** Plain keys that may be read; those of signed requests have forms of their own. */
function* plainKeys(channel: Channel): Generator<[i: number, key: string]> {
  if (channel.sealed === true) return
  for (const [i, { key }] of channel.keys.entries()) if (upstreamCredential(channel.kind, key) === null) yield [i, key]
}

/**
 * Weight 0 means "only when no other channel is left", which cannot be meant for every channel of a model.
 */
function* onlyLast({ seen }: Sight): Generator<Found> {
  // so it is nearly always, and the rest looks at each way through the catalogue
  if (seen.channels.every(({ weight }) => weight > 0)) return
  const places = new Map<string, Channel[]>()
  for (const row of seen.channels) {
    if (row.status !== 'enabled') continue
    for (const group of row.groups)
      for (const model of Object.keys(row.models))
        for (const protocol of row.protocols) {
          const place = JSON.stringify([group, model, protocol])
          places.set(place, [...(places.get(place) ?? []), row])
        }
  }
  const first = new Set<Channel>()
  for (const sharing of places.values())
    if (sharing.every(({ weight }) => weight === 0)) first.add(sharing[0] as Channel)
  for (const { name, weight } of first)
    yield inRow(
      'channels',
      name,
      ['weight'],
      'a weight above 0 at one of the channels of a model: 0 is for those that are only asked when no other can be',
      weight,
    )
}

export const CHANNEL_RULES: Rule[] = [
  {
    name: 'loop',
    severity: 'refused',
    about: 'An upstream that is this gateway itself.',
    find: loops,
  },
  {
    name: 'plain_http',
    severity: 'refused',
    about: 'An upstream on the internet that gets its key without encryption.',
    *find(sight) {
      for (const channel of sight.seen.channels)
        if (channel.baseUrl.startsWith('http:') && sight.isPublic(channel))
          yield inRow(
            'channels',
            channel.name,
            ['base_url'],
            'an https:// address: everybody on the way can read the key',
            channel.baseUrl,
          )
    },
  },
  {
    name: 'placeholder_key',
    severity: 'refused',
    about:
      'A key of an upstream on the internet that was never filled in, or a variable that was not read: `${NAME}` has braces.',
    *find(sight) {
      for (const channel of sight.seen.channels)
        if (sight.isPublic(channel))
          for (const [i, key] of plainKeys(channel))
            if (isPlaceholder(key))
              yield inRow(
                'channels',
                channel.name,
                ['keys', i, 'key'],
                'the key of the upstream, and not a placeholder (variables are written ${NAME})',
                key,
                { hidden: true },
              )
    },
  },
  {
    name: 'kind_of_host',
    severity: 'warned',
    about: 'The host of a known provider without the kind of that provider.',
    *find({ seen }) {
      for (const channel of seen.channels) {
        const kind = HOSTS.find(([host]) => host.test(hostOf(channel)))?.[1]
        if (
          kind === undefined ||
          channel.kind === kind ||
          (channel.kind !== null && ALIKE[kind]?.includes(channel.kind))
        )
          continue
        yield inRow(
          'channels',
          channel.name,
          ['kind'],
          `${kind}, whose host it is: paths and headers depend on it`,
          channel.kind,
        )
      }
    },
  },
  {
    name: 'path_in_address',
    severity: 'warned',
    about: 'An address that ends with the path of a protocol, which is appended to it once more.',
    *find({ seen }) {
      for (const { name, baseUrl } of seen.channels) {
        const protocol = protocolEnding(baseUrl)
        if (protocol !== null)
          yield inRow(
            'channels',
            name,
            ['base_url'],
            `an address without the path of ${protocol}, which is appended to it`,
            baseUrl,
          )
      }
    },
  },
  {
    name: 'no_models',
    severity: 'warned',
    about: 'A channel without models, which is never chosen.',
    *find({ seen }) {
      for (const { name, models } of seen.channels)
        if (Object.keys(models).length === 0)
          yield inRow('channels', name, ['models'], 'at least one model: this channel is never chosen', null)
    },
  },
  {
    name: 'unrecorded',
    severity: 'warned',
    about:
      'A kind of provider whose usage, at least of streams, is read as its protocol says it: no answer of it, and no example, was there to try.',
    *find({ seen }) {
      for (const channel of seen.channels) {
        const what = unrecordedOf(channel)
        const expected = `a kind whose ${what} were tried: compare what its first requests cost with its bill`
        if (what !== undefined) yield inRow('channels', channel.name, ['kind'], expected, channel.kind)
      }
    },
  },
  {
    name: 'unpriced',
    severity: 'warned',
    about: 'A model of a channel that has no price, or stands nowhere.',
    *find({ seen }) {
      const priced = new Set(seen.models.filter(({ price }) => price !== null).map(({ name }) => name))
      for (const { name, models } of seen.channels)
        for (const model of Object.keys(models))
          if (!priced.has(model))
            yield inRow(
              'channels',
              name,
              ['models', model],
              `a model that has a price${didYouMean(model, priced)}`,
              model,
            )
    },
  },
  {
    name: 'unserved',
    severity: 'warned',
    about: 'A model with a price that no enabled channel serves.',
    *find(sight) {
      const served = new Set(sight.served)
      const priced = new Set(sight.seen.models.filter(({ price }) => price !== null).map(({ name }) => name))
      const unpriced = [...served].filter(name => !priced.has(name))
      for (const { name, price } of sight.seen.models)
        if (price !== null && !served.has(name))
          yield inRow(
            'models',
            name,
            ['name'],
            `a model that an enabled channel serves${didYouMean(name, unpriced)}`,
            name,
          )
    },
  },
  {
    name: 'max_output_missing',
    severity: 'warned',
    about:
      'A model of text without `max_output` that clients of messages reach by translation only: they ask for up to 128000 tokens, which upstreams of other models refuse.',
    *find(sight) {
      const { cover } = protocolRow('messages').price
      for (const { name, price, maxOutput } of sight.seen.models) {
        const isText = price !== null && cover.some(set => set.every(line => price[line] !== undefined))
        const ways = sight
          .serving(name)
          .filter(({ protocols }) => protocols.some(one => Object.hasOwn(FINISH_WORDS, one)))
        const translated = ways.filter(({ translate }) => translate === true || translate.includes('messages'))
        const isNative = ways.some(({ protocols }) => protocols.includes('messages'))
        if (maxOutput !== null || !isText || isNative || translated.length === 0) continue
        const expected = 'the most tokens that the model writes: clients of messages ask for up to 128000'
        yield inRow('models', name, ['max_output'], expected, null)
      }
    },
  },
  {
    name: 'only_last',
    severity: 'warned',
    about: 'A model all of whose channels have weight 0.',
    find: onlyLast,
  },
  {
    name: 'nothing_there',
    severity: 'warned',
    about: 'A catalogue file in which nothing stands.',
    *find({ seen }) {
      const { file, groups, models, channels, accounts, keys } = seen
      if (file && [groups, models, channels, accounts, keys].every(list => list.length === 0))
        yield inCatalog([], 'channels and models: the file is empty', null)
    },
  },
  {
    name: 'nothing_public',
    severity: 'warned',
    about:
      'No group with `public: true` where everybody may register: the catalogue shows nothing to who has not signed in.',
    *find({ seen }) {
      if (seen.config?.registration.mode !== 'open' || seen.channels.length === 0) return
      if (!seen.groups.some(row => row.public))
        yield inConfig(
          ['registration', 'mode'],
          'a group with public: true in the catalogue, which shows no other to people who have not signed in',
          null,
        )
    },
  },
]
