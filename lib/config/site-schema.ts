/**
 * The section `site`: whose gateway this is, as its pages, letters and imports into tools say it. A text is one for both
 * languages, or one for each.
 */
import { createHash } from 'node:crypto'
import { closeSync, openSync, readSync } from 'node:fs'
import { z } from 'zod'
import { LANGUAGES, type Language, type Words } from '../base/people.ts'
import * as kind from './scalars.ts'
import type { Source } from './yaml.ts'

export const LEVELS = ['info', 'warning'] as const

interface SiteLogo {
  type: 'image/svg+xml' | 'image/png' | 'image/webp'
  base64: string
}

interface Announcement {
  /** A digest of the text, so that an announcement whose text changes is a new one. */
  id: string
  text: Words
  level: (typeof LEVELS)[number]
  /** From when until when it is shown; ms since 1970, null = from the beginning, or until it is taken out. */
  fromMs: number | null
  untilMs: number | null
  /** Only members of accounts in this group see it; null = everybody does. */
  group: string | null
}

export interface SiteSettings {
  name: Words
  /** What the front page says of the gateway; null = a sentence of its own. */
  about: Words | null
  logo: SiteLogo | null
  /** Colour of links and buttons by theme, as `#rrggbb`; null = the gateway's own. */
  colors: { light: string | null; dark: string | null }
  /** How to reach the operator; null = nobody has said. */
  contact: Words | null
  terms: string | null
  privacy: string | null
  /** Number of the ICP filing. */
  icp: string | null
  links: { text: Words; url: string }[]
  /** The first is that of readers whose browser asks for none of them. */
  languages: Language[]
  announcements: Announcement[]
}

const MOST_LINKS = 5
const MOST_ANNOUNCEMENTS = 20
const LOGO_BYTES = 64 * 1024

/** One line that shows what it says: no control characters, and none that turn the direction of what follows. */
const isLine = (value: unknown, most: number): value is string =>
  typeof value === 'string' && value.length <= most && kind.asName(value) !== undefined

const text = (most: number) =>
  kind.scalar(
    `a text of at most ${most} characters, or one for each language as { zh, en }`,
    { type: ['string', 'object'] },
    (value): Words | undefined => {
      if (isLine(value, most)) return { zh: value, en: value }
      if (typeof value !== 'object' || value === null) return undefined
      const { zh, en, ...others } = value as Record<string, unknown>
      return isLine(zh, most) && isLine(en, most) && Object.keys(others).length === 0 ? { zh, en } : undefined
    },
  )

const link = kind.scalar('an https:// URL', { type: 'string', pattern: '^https://' }, value => {
  const url = typeof value === 'string' && value.length <= 1_000 ? URL.parse(value) : null
  return url?.protocol === 'https:' && url.username === '' && url.password === '' ? url.href : undefined
})

/** On these the pages show links and buttons: the brightest and the darkest ground that a theme has for them. */
export const GROUNDS = { light: '#f0f2f6', dark: '#222933' } as const
const LEAST_CONTRAST = 4.5

const channels = (color: string): number[] => [1, 3, 5].map(at => Number.parseInt(color.slice(at, at + 2), 16))

function luminance(color: string): number {
  const [r, g, b] = channels(color).map(value => {
    const share = value / 255
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
  }) as [number, number, number]
  return 0.2126 * r + 0.7152 * g + 0.0722 * b
}

/** Contrast of two colours by WCAG 2: from 1 to 21. */
export function contrast(one: string, other: string): number {
  const [dark, bright] = [luminance(one), luminance(other)].sort((a, b) => a - b) as [number, number]
  return (bright + 0.05) / (dark + 0.05)
}

/** A colour that lies so far between two, from 0 to 1. */
export const mixed = (from: string, to: string, share: number): string =>
  `#${channels(from)
    .map((value, i) => Math.round(value + ((channels(to)[i] as number) - value) * share))
    .map(value => value.toString(16).padStart(2, '0'))
    .join('')}`

const color = (theme: keyof typeof GROUNDS) =>
  kind.scalar(
    `a colour as "#rrggbb" whose contrast on ${GROUNDS[theme]} is at least ${LEAST_CONTRAST}`,
    { type: 'string', pattern: '^#[0-9A-Fa-f]{6}$' },
    value => {
      const found = kind.matched(/^#[\da-f]{6}$/i, value)?.[0].toLowerCase()
      return found !== undefined && contrast(found, GROUNDS[theme]) >= LEAST_CONTRAST ? found : undefined
    },
  )

const announcement = z.strictObject({
  text: text(500).meta({ description: 'What it says.' }),
  level: kind
    .oneOf(...LEVELS)
    .prefault('info')
    .meta({ description: '`info`, or `warning` for what will not work.' }),
  from: kind.time.optional().meta({ description: 'From when it is shown. Default: at once.' }),
  until: kind.time.optional().meta({ description: 'Until when it is shown. Default: as long as it stands here.' }),
  group: kind.name
    .optional()
    .meta({ description: 'Only members of accounts in this group see it. Default: everybody does.' }),
})

const shape = {
  name: text(60)
    .prefault({ zh: '模型网关', en: 'Model gateway' })
    .meta({ description: 'Name of the site: on pages, in letters, and what tools call the gateway after an import.' }),
  about: text(300).optional().meta({
    description: 'One or two sentences with which the front page begins. Default: what a gateway is.',
  }),
  logo: kind
    .plainText('a file')
    .optional()
    .meta({ description: 'File of the logo: SVG, PNG or WebP, square, at most 64 KiB. Default: none.' }),
  colors: z
    .strictObject({
      light: color('light').optional().meta({ description: 'In the light theme.' }),
      dark: color('dark').optional().meta({ description: 'In the dark theme.' }),
    })
    .prefault({})
    .meta({ description: 'Colour of links and buttons as "#rrggbb". One that cannot be read well is refused.' }),
  contact: text(200).optional().meta({
    description:
      'How to reach the operator: an e-mail address or an https:// URL, which become links, or any other text. Default: none.',
  }),
  terms: link.optional().meta({ description: 'URL of the terms of service (https). Default: none.' }),
  privacy: link.optional().meta({ description: 'URL of the privacy policy (https). Default: none.' }),
  icp: kind
    .scalar('the number of an ICP filing', { type: 'string' }, value => (isLine(value, 60) ? value : undefined))
    .optional()
    .meta({ description: 'Number of the ICP filing, as public sites in China must show it. Default: none.' }),
  links: z
    .array(
      z.strictObject({
        text: text(40).meta({ description: 'What the link says.' }),
        url: link.meta({ description: 'Where it leads (https).' }),
      }),
    )
    .max(MOST_LINKS)
    .prefault([])
    .meta({ description: `Further links at the foot of every page, at most ${MOST_LINKS}.` }),
  languages: z
    .array(kind.oneOf(...LANGUAGES))
    .min(1)
    .max(LANGUAGES.length)
    .prefault([...LANGUAGES])
    .meta({
      description:
        'Languages of pages and letters; the first is for readers whose browser asks for none of them. Errors of the API of models stay in both.',
    }),
  announcements: z
    .array(announcement)
    .max(MOST_ANNOUNCEMENTS)
    .prefault([])
    .meta({ description: `What readers are told at the top of every page, at most ${MOST_ANNOUNCEMENTS}.` }),
}

export const siteSection = z
  .strictObject(shape)
  .prefault({})
  .meta({ description: 'Whose gateway this is. A text is one for both languages, or a map `{ zh: …, en: … }`.' })

type Form = z.output<typeof siteSection>

const SIGNATURES: [type: SiteLogo['type'], pattern: RegExp][] = [
  ['image/png', /^\x89PNG\r\n/],
  ['image/webp', /^RIFF.{4}WEBP/s],
  ['image/svg+xml', /^(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)*<svg[\s>]/s],
]

/** At most one byte more than a logo may have. */
function firstBytes(file: string): Buffer | null {
  const room = Buffer.alloc(LOGO_BYTES + 1)
  try {
    const opened = openSync(file, 'r')
    try {
      return room.subarray(0, readSync(opened, room))
    } finally {
      closeSync(opened)
    }
  } catch {
    return null
  }
}

function logoIn(file: string, source: Source): SiteLogo | null {
  const bytes = firstBytes(source.resolve(file))
  const type = SIGNATURES.find(([, pattern]) => bytes !== null && pattern.test(bytes.toString('latin1')))?.[0]
  if (bytes !== null && type !== undefined && bytes.length <= LOGO_BYTES)
    return { type, base64: bytes.toString('base64') }
  source.problem(['site', 'logo'], 'a readable file with an SVG, PNG or WebP of at most 64 KiB')
  return null
}

/** Reads the logo, too. What is wrong is reported to `source`. */
export function toSiteConfig(form: Form, source: Source): SiteSettings {
  form.announcements.forEach(({ from, until }, i) => {
    if (from !== undefined && until !== undefined && until <= from)
      source.problem(['site', 'announcements', i, 'until'], 'a time after `from`')
  })
  return {
    name: form.name,
    about: form.about ?? null,
    logo: form.logo === undefined ? null : logoIn(form.logo, source),
    colors: { light: form.colors.light ?? null, dark: form.colors.dark ?? null },
    contact: form.contact ?? null,
    terms: form.terms ?? null,
    privacy: form.privacy ?? null,
    icp: form.icp ?? null,
    links: form.links,
    languages: [...new Set(form.languages)],
    announcements: form.announcements.map(({ text, level, from, until, group }) => ({
      id: idOf(text),
      text,
      level,
      fromMs: from ?? null,
      untilMs: until ?? null,
      group: group ?? null,
    })),
  }
}

export type ShownAnnouncement = Pick<Announcement, 'id' | 'text' | 'level'>

/** The announcements that are to be shown now: to everybody, or with `groups` those that are for one of these groups only. */
export function announced(
  { announcements }: Pick<SiteSettings, 'announcements'>,
  nowMs: number,
  groups: readonly string[] | null,
): ShownAnnouncement[] {
  return announcements
    .filter(({ group }) => (group === null ? groups === null : groups?.includes(group)))
    .filter(({ fromMs, untilMs }) => (fromMs ?? 0) <= nowMs && (untilMs ?? Number.POSITIVE_INFINITY) > nowMs)
    .map(({ id, text, level }) => ({ id, text, level }))
}

const idOf = (text: Words): string => createHash('sha256').update(JSON.stringify(text)).digest('hex').slice(0, 12)
