/**
 * A page as the server sends it: frame, navigation and heading, in the language and the theme of the reader. Who is
 * signed in changes nothing in it but the navigation, and what it shows of an account comes from the API later.
 */
import type { IncomingMessage } from 'node:http'
import { prefersEnglish } from '../base/language.ts'
import type { Language } from '../base/people.ts'
import type { RenderDocument, Theme } from '../../web/shared/given.ts'
import type { PageName } from '../../web/shared/sitemap.ts'
import { type ClientFiles, ICON, STYLE, UNSCRIPTED } from './client-files.ts'

/** The views run in the browser as well, and their types need a browser's: so they are not imported by their name. */
const DOCUMENT = new URL('../../web/document.ts', import.meta.url).href

export interface Reader {
  language: Language
  theme: Theme
  signedIn: boolean
}

export type Shell = (page: PageName, reader: Reader, data: unknown) => string

export async function openShell(client: ClientFiles): Promise<Shell> {
  const { renderDocument } = (await import(DOCUMENT)) as { renderDocument: RenderDocument }
  return (page, reader, data) => {
    const preload = client.preloadOf(page)
    return renderDocument(
      { page, ...reader, data },
      {
        style: client.addressOf(STYLE),
        unscripted: client.addressOf(UNSCRIPTED),
        icon: client.addressOf(ICON),
        script: preload[0] as string,
        preload: preload.slice(1),
        importMap: client.importMap,
      },
    )
  }
}

/** What the reader chose before, in cookies; else what the browser says. */
export function readerOf(req: IncomingMessage): Reader {
  const cookie = (name: string): string | undefined =>
    new RegExp(`(?:^|;\\s*)${name}=([^;]*)`).exec(req.headers.cookie ?? '')?.[1]
  const language = cookie('language')
  const theme = cookie('theme')
  return {
    language:
      language === 'zh' || language === 'en' ? language : prefersEnglish(req.headers['accept-language']) ? 'en' : 'zh',
    theme: theme === 'light' || theme === 'dark' ? theme : 'system',
    signedIn: cookie('session') !== undefined || cookie('__Host-session') !== undefined,
  }
}
