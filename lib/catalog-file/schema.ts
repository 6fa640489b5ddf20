/**
 * The schema of the catalogue file: groups, models, channels, accounts and keys, as people write them. `catalog.ts`
 * turns what it parses into our records. The descriptions are the texts that editors and `docs/config.md` show.
 */

import { z } from 'zod'
import * as kind from '../config/scalars.ts'
import { limit, rate } from '../config/scalars.ts'
import {
  IMAGE_FORMS,
  type ImageForm,
  MODEL_EFFORTS,
  type ModelEffort,
  type Offline,
  SAMPLING_FORMS,
  type SamplingForm,
  THINKING_FORMS,
  type ThinkingForm,
} from '../terms/records.ts'
import { channel } from './channel-schema.ts'
import { priceSchema } from './price-schema.ts'

const MOST_TOKENS = 1_000_000_000
export const DEFAULT_OUTPUT = 4096
/** Most streams of one account that are read on after its clients have left. */
export const READ_ONS = 256
/**
 * Mostly estimates of what a request may bring beside its text. The store uses them too: rows of earlier versions lack
 * these fields.
 */
export const MODEL_DEFAULTS = {
  maxInput: 200_000,
  mediaInput: 2000,
  toolInput: 16_000,
  maxSearches: 10,
  context: 2_000_000,
  overheadInput: 4096,
  pictureInputMax: 65_536,
  searches: null as 'always' | null,
  family: null as string | null,
  vendor: null as string | null,
  offline: [] as Offline,
  imageForm: null as ImageForm | null,
  thinking: null as ThinkingForm | null,
  efforts: [] as ModelEffort[],
  sampling: 'all' as SamplingForm,
  systemTurns: false,
}

const group = z.strictObject({
  name: kind.name.meta({ description: 'Name of the group; `default` always exists.' }),
  multiplier: kind
    .millionths({ zh: '不小于0的倍率', en: 'a factor, 0 or more,' })
    .prefault(1)
    .meta({ description: 'Factor for every price in this group.' }),
  rate: rate
    .optional()
    .meta({ description: 'Rate limit of accounts in this group. Default: `limits.rate` of the config.' }),
  hedge: z
    .strictObject({
      after: kind
        .duration({ least: 1 })
        .meta({ description: 'Silence of the first attempt after which the second begins.' }),
    })
    .optional()
    .meta({
      description:
        'Hedging: when the first attempt stays silent, a second one begins at another channel. Default: never.',
    }),
  read_ons: kind.whole(1).prefault(READ_ONS).meta({
    description:
      'Most streams of one account that are read on at once for `client_gone.drain` after their client has left, per process. While an account has so many, its new requests are refused with 429.',
  }),
  public: kind.flag.prefault(false).meta({
    description:
      'The group’s models, prices and figures are shown to everybody, also to people who have not signed in.',
  }),
})

const offline = kind.scalar(
  { zh: 'true、false或分组列表', en: 'true, false, or a list of groups' },
  { anyOf: [{ type: 'boolean' }, { type: 'string' }, { type: 'array', items: { type: 'string' } }] },
  (value): Offline | undefined => {
    const all = kind.flag.safeParse(value)
    if (all.success) return all.data ? true : []
    const names = Array.isArray(value) ? value.map(kind.asName) : [undefined]
    return names.every(name => name !== undefined) ? [...new Set(names)] : undefined
  },
)

const model = z.strictObject({
  name: kind.modelName.meta({ description: 'Name that clients use, exactly.' }),
  price: priceSchema.optional().meta({ description: 'A model without price cannot be used.' }),
  max_output: kind
    .whole(1)
    .optional()
    .meta({ description: 'Most output tokens that the model can produce. Default: not known.' }),
  default_output: kind.whole(0).prefault(DEFAULT_OUTPUT).meta({
    description:
      'Output tokens that a request without a maximum is held at least: see “The worst case” in docs/charging.md.',
  }),
  input_factor: kind
    .millionths({ zh: '大于0的倍率', en: 'a factor above 0' }, 1)
    .prefault(1.1)
    .meta({ description: 'The input tokens of a text are estimated as its bytes / 4 × this factor.' }),
  max_input: kind.whole(1, MOST_TOKENS).prefault(MODEL_DEFAULTS.maxInput).meta({
    description:
      'Input tokens held for each document by URL and for an earlier answer that is continued, because their size is not known; also the most that one document in the body is estimated at. Best set to the model’s context window.',
  }),
  media_input: kind
    .whole(1, MOST_TOKENS)
    .prefault(MODEL_DEFAULTS.mediaInput)
    .meta({ description: 'Input tokens estimated for a picture and for each page of a document.' }),
  tool_input: kind
    .whole(0, MOST_TOKENS)
    .prefault(MODEL_DEFAULTS.toolInput)
    .meta({ description: 'Input tokens held for each use of a tool that the upstream runs, such as a web search.' }),
  max_searches: kind
    .whole(0, MOST_TOKENS)
    .prefault(MODEL_DEFAULTS.maxSearches)
    .meta({ description: 'How many uses of such a tool are held when the request does not limit them.' }),
  context: kind.whole(1, MOST_TOKENS).prefault(MODEL_DEFAULTS.context).meta({
    description:
      'Context window of the model: the most input tokens of one prompt that are charged, whatever an upstream reports.',
  }),
  overhead_input: kind.whole(0, MOST_TOKENS).prefault(MODEL_DEFAULTS.overheadInput).meta({
    description:
      'Input tokens that an upstream may add to what stands in the body, such as a system prompt of its own. More is not charged.',
  }),
  picture_input_max: kind
    .whole(0, MOST_TOKENS)
    .prefault(MODEL_DEFAULTS.pictureInputMax)
    .meta({ description: 'Most input tokens that are charged for one picture.' }),
  searches: kind.oneOf('always').optional().meta({
    description:
      '`always`: the model searches the web also when nobody asks it to, so that a search is held for every request. Default: only tools of a request search.',
  }),
  family: kind.name
    .optional()
    .meta({ description: 'Family under which the catalogue lists the model. Default: none.' }),
  vendor: kind.name
    .optional()
    .meta({ description: 'Who makes the model, as the catalogue says it. Default: not said.' }),
  offline: offline.prefault(false).meta({
    description:
      'The model is temporarily offline: `true` in every group, or a list of groups. Requests for it are refused with 503, and model lists leave it out.',
  }),
  image_form: kind
    .oneOf(...IMAGE_FORMS)
    .optional()
    .meta({
      description:
        'In which form the upstream of an image model gives its pictures: `url` (links, or base64 when asked), or `base64` only. Shown with the model, and decides nothing. Default: not known.',
    }),
  thinking: kind
    .oneOf(...THINKING_FORMS)
    .optional()
    .meta({
      description:
        'How the model takes it that it shall think, in requests that are translated: by an `effort`, `adaptive`, by a `budget` of tokens, or `none`: not at all. Default: adaptive on messages, else by an effort.',
    }),
  efforts: z
    .array(kind.oneOf(...MODEL_EFFORTS))
    .prefault([])
    .meta({
      description:
        'Efforts that the model knows, in requests that are translated, with `none` where thinking can be switched off. Default: those of its protocol.',
    }),
  sampling: kind
    .oneOf(...SAMPLING_FORMS)
    .prefault(MODEL_DEFAULTS.sampling)
    .meta({
      description:
        'Which of temperature and top-p are sent in requests that are translated: `all`, `one` of them, or `none`.',
    }),
  system_turns: kind.flag.prefault(false).meta({
    description:
      'On messages: the model takes system turns in the middle of a conversation. Otherwise they are translated into text of the user.',
  }),
})

const account = z.strictObject({
  name: kind.name.meta({ description: 'Name of the account.' }),
  groups: z
    .array(kind.name)
    .prefault(['default'])
    .meta({ description: 'Groups that the account’s keys may belong to.' }),
  balance: kind.cny
    .optional()
    .meta({ description: 'Opening top-up in CNY, credited once, when the account is first created. Default: none.' }),
  budget: limit.optional().meta({
    description:
      'Most that the account may spend, in CNY: an amount for ever, or `{ amount, every }` for each `day`, `week` or `month`. Default: no budget.',
  }),
  sandbox: z.boolean('true or false').prefault(false).meta({
    description:
      'A test account: it pays with providers’ test environments, and with no others. It is set when the account is created and never changed. Default: false.',
  }),
})

const key = z.strictObject({
  account: kind.name.meta({ description: 'Account that pays for the key’s requests.' }),
  name: kind.name.meta({ description: 'Name of the key within its account.' }),
  secret: kind
    .secret('a secret that begins with "sk-", without spaces', /^sk-[!-~]+$/)
    .meta({ description: 'Secret that clients send. The store keeps only its SHA-256.' }),
  group: kind.name.prefault('default').meta({ description: 'Group whose channels and prices the key uses.' }),
  expires_at: kind.time.optional().meta({ description: 'ISO time from which the key is refused. Default: never.' }),
  cap: limit.optional().meta({
    description:
      'Most that the key may spend, in CNY: an amount for ever, or `{ amount, every }` for each `day`, `week` or `month`. Default: no cap.',
  }),
  allow_ips: z
    .array(kind.network)
    .optional()
    .meta({ description: 'Client addresses and CIDRs from which the key may be used. Default: any.' }),
  models: z
    .array(kind.modelName)
    .optional()
    .meta({ description: 'Models the key may use. Default: all of its group.' }),
  status: kind.oneOf('enabled', 'disabled').prefault('enabled').meta({ description: 'Whether the key is accepted.' }),
})

export const catalogSchema = z.strictObject({
  accept: kind.accepted.prefault([]).meta({ description: kind.ACCEPTED }),
  groups: z.array(group).prefault([]).meta({ description: 'Sets of channels with a price multiplier.' }),
  models: z.array(model).prefault([]).meta({ description: 'Models and what they cost.' }),
  channels: z.array(channel).prefault([]).meta({ description: 'Upstreams and how they are asked.' }),
  accounts: z.array(account).prefault([]).meta({ description: 'Customers, each with a balance.' }),
  keys: z.array(key).prefault([]).meta({ description: 'Keys with which clients identify themselves.' }),
})

export type CatalogForm = z.output<typeof catalogSchema>
