/**
 * What the section `site` of the config makes of pages: the name, links and announcements that stand in every document, a
 * style sheet with the operator's colours, and the logo. Both files have their hash in their address.
 */
import { createHash } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import type { Clock } from '../base/clock.ts'
import { announced, type Config, mixed } from '../config/config.ts'
import type { ShownSite } from '../../web/shared/given.ts'
import { assetHeaders } from './assets.ts'

type Site = Config['site']

interface BrandFile {
  type: string
  body: Buffer
}

export interface Branding {
  /** One object as long as what it says is equal. */
  shown: ShownSite
  /** Address of the style sheet with the operator's colours; null = there are none. */
  colors: string | null
}

/** How far the colour of what is under the pointer lies from that of links, and the ground of what is chosen from paper. */
const STRONG = { light: ['#000000', 0.2], dark: ['#ffffff', 0.3] } as const
const TINT = { light: ['#ffffff', 0.9], dark: ['#171c24', 0.82] } as const

function tokens(theme: 'light' | 'dark', color: string): string {
  const tone = (to: readonly [string, number]) => mixed(color, to[0], to[1])
  const [strong, tint] = [tone(STRONG[theme]), tone(TINT[theme])]
  return `--accent: ${color}; --accent-strong: ${strong}; --tint: ${tint}; --series-1: ${color}`
}

/** The tokens that the operator has chosen, in the place of those of tokens.css. */
export function colorSheet({ light, dark }: Site['colors']): string | null {
  if (light === null && dark === null) return null
  const ofDark = dark === null ? '' : tokens('dark', dark)
  const rules = [
    light === null ? '' : `:root { ${tokens('light', light)} }`,
    // where only the light colour is given, the dark theme keeps its own
    dark === null
      ? ''
      : `@media (prefers-color-scheme: dark) { :root:not([data-theme="light"]) { ${ofDark} } }\n  :root[data-theme="dark"] { ${ofDark} }`,
  ]
  return `@layer tokens {\n  ${rules.filter(rule => rule !== '').join('\n  ')}\n}\n`
}

const hashOf = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex').slice(0, 16)

export class Brand {
  readonly #config: () => Pick<Config, 'site' | 'zone'>
  readonly #registers: () => boolean
  readonly #clock: Pick<Clock, 'now'>
  readonly #files = new Map<string, BrandFile>()
  #of: Site | null = null
  #made: Branding | null = null
  #said = ''

  /** `registers`: whether anybody may register. */
  constructor(config: () => Pick<Config, 'site' | 'zone'>, registers: () => boolean, clock: Pick<Clock, 'now'>) {
    this.#config = config
    this.#registers = registers
    this.#clock = clock
  }

  now(): Branding {
    const { site, zone } = this.#config()
    const shown = announced(site, this.#clock.now(), null)
    const said = [this.#registers(), ...shown.map(({ id }) => id)].join(' ')
    if (this.#made !== null && this.#of === site && this.#said === said) return this.#made
    if (this.#of !== site) this.#files.clear()
    const sheet = colorSheet(site.colors)
    const { logo, colors: _, announcements: __, ...texts } = site
    const made = {
      shown: {
        ...texts,
        zone,
        logo: logo === null ? null : this.#add('logo', logo.type, Buffer.from(logo.base64, 'base64')),
        register: this.#registers(),
        announcements: shown,
      },
      colors: sheet === null ? null : this.#add('colors.css', 'text/css; charset=utf-8', Buffer.from(sheet, 'utf8')),
    }
    this.#of = site
    this.#said = said
    this.#made = made
    return made
  }

  #add(name: string, type: string, body: Buffer): string {
    const address = `/console/site/${hashOf(body)}/${name}`
    this.#files.set(address, { type, body })
    return address
  }

  /** Answers and returns true; false = there is no such file. */
  answer(path: string, isHead: boolean, res: ServerResponse): boolean {
    this.now()
    const file = this.#files.get(path)
    if (file === undefined) return false
    res.writeHead(200, { ...assetHeaders(file.type), 'content-length': file.body.length })
    res.end(isHead ? undefined : file.body)
    return true
  }
}
