/** The catalogue file, as people write it. */
import { z } from 'zod'
import * as address from './config-addresses.ts'
import { channel } from './config-channel.ts'
import * as kind from './config-scalars.ts'
import { rate } from './config-schema.ts'

export const DEFAULT_OUTPUT = 4096
const MOST_TOKENS = 1_000_000_000
/** Of what a request may bring or cause beside its text; documents of earlier versions lack it. */
export const MODEL_DEFAULTS = { maxInput: 200_000, mediaInput: 2000, toolInput: 16_000, maxSearches: 10 }

const priced = (meaning: string) =>
  kind.millionths('a price in CNY, 0 or more,').optional().meta({ description: meaning })
const perMillion = (meaning: string) => priced(`CNY per million tokens: ${meaning}`)

const price = z.strictObject({
  input: perMillion('fresh input.'),
  output: perMillion('output, reasoning included.'),
  cache_read: perMillion('input read from a cache. Default: as `input`.'),
  cache_write_5m: perMillion('input written to a cache for five minutes. Default: as `input`.'),
  cache_write_1h: perMillion('input written to a cache for an hour. Default: as `cache_write_5m`.'),
  image: priced('CNY per image.'),
  request: priced('CNY per answered request.'),
})

const group = z.strictObject({
  name: kind.name.meta({ description: 'Name of the group; `default` always exists.' }),
  multiplier: kind
    .millionths('a factor, 0 or more,')
    .prefault(1)
    .meta({ description: 'Every price in this group is multiplied by it.' }),
  rate: rate
    .optional()
    .meta({ description: 'Rate limit of accounts in this group. Default: `limits.rate` of the config.' }),
  hedge: z
    .strictObject({
      after: kind.duration({ least: 1 }).meta({ description: 'How long the first attempt may be silent.' }),
    })
    .optional()
    .meta({
      description: 'A second attempt, at another channel, beside a first one that stays silent. Default: never.',
    }),
})

const model = z.strictObject({
  name: kind.name.meta({ description: 'Name that clients use, exactly.' }),
  price: price.optional().meta({ description: 'A model without price cannot be used.' }),
  max_output: kind
    .whole(1)
    .optional()
    .meta({ description: 'The model’s own ceiling of output tokens. Default: none.' }),
  default_output: kind
    .whole(0)
    .prefault(DEFAULT_OUTPUT)
    .meta({ description: 'Output tokens estimated when a request names no maximum.' }),
  input_factor: kind
    .millionths('a factor above 0', 1)
    .prefault(1.1)
    .meta({ description: 'Estimated input tokens are bytes of text / 4 × this.' }),
  max_input: kind.whole(1, MOST_TOKENS).prefault(MODEL_DEFAULTS.maxInput).meta({
    description:
      'Input tokens held for each thing that a request names and does not carry: a document by URL, an answer it continues. No document counts more. Best the model’s context window.',
  }),
  media_input: kind
    .whole(1, MOST_TOKENS)
    .prefault(MODEL_DEFAULTS.mediaInput)
    .meta({ description: 'Input tokens estimated for a picture, or for a page of a document.' }),
  tool_input: kind
    .whole(0, MOST_TOKENS)
    .prefault(MODEL_DEFAULTS.toolInput)
    .meta({ description: 'Input tokens held for each use of a tool that the upstream runs, such as a web search.' }),
  max_searches: kind
    .whole(0, MOST_TOKENS)
    .prefault(MODEL_DEFAULTS.maxSearches)
    .meta({ description: 'Uses held for such a tool when the request names no limit.' }),
})

const account = z.strictObject({
  name: kind.name.meta({ description: 'Name of the account.' }),
  groups: z.array(kind.name).prefault(['default']).meta({ description: 'Groups that its keys may be bound to.' }),
  balance: kind.cny
    .optional()
    .meta({ description: 'Opening top-up in CNY, credited once, when the account is first created. Default: none.' }),
})

const key = z.strictObject({
  account: kind.name.meta({ description: 'Account that pays.' }),
  name: kind.name.meta({ description: 'Name of the key within its account.' }),
  secret: kind
    .secret('a secret that begins with "sk-", without spaces', /^sk-[!-~]+$/)
    .meta({ description: 'What clients send. Only its SHA-256 is stored.' }),
  group: kind.name.prefault('default').meta({ description: 'Group whose channels and prices it uses.' }),
  expires_at: kind.time.optional().meta({ description: 'ISO time after which it is refused. Default: never.' }),
  cap: kind.cny.optional().meta({ description: 'Most that it may spend, in CNY. Default: no cap.' }),
  allow_ips: z
    .array(address.network)
    .optional()
    .meta({ description: 'Addresses and CIDRs it may be used from. Default: any.' }),
  models: z.array(kind.name).optional().meta({ description: 'Models it may use. Default: all of its group.' }),
  status: kind.oneOf('enabled', 'disabled').prefault('enabled').meta({ description: 'Whether it works.' }),
})

export const catalogSchema = z.strictObject({
  groups: z.array(group).prefault([]).meta({ description: 'Sets of channels with a price multiplier.' }),
  models: z.array(model).prefault([]).meta({ description: 'Models and what they cost.' }),
  channels: z.array(channel).prefault([]).meta({ description: 'Upstreams.' }),
  accounts: z.array(account).prefault([]).meta({ description: 'Who pays.' }),
  keys: z.array(key).prefault([]).meta({ description: 'What clients send.' }),
})

export type CatalogForm = z.output<typeof catalogSchema>
