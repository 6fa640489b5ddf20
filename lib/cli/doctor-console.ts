/**
 * What `gateway doctor` says of the console, as people's browsers reach it: whether the address that links lead to is one for others,
 * whether pages come whole from there, and whether a cookie arrives with what protects it. A cookie like that of a session is set by
 * the gateway itself, which answers whoever knows its secret (`lib/terms/probe.ts`); nobody is signed in.
 */
import { isLoopback } from '../config/scalars.ts'
import type { Config } from '../config/config.ts'
import { PROBE_HEADER, PROBE_PATH, probeCookie, probeToken } from '../terms/probe.ts'
import type { Check } from './doctor-public.ts'

type Say = (check: string, result: Check['result'], says: string, mend?: string) => void

const WAIT_MS = 10_000
/** Headers of pages without which a fault in one of them would be worth more to an attacker. */
const GUARDS = ['content-security-policy', 'x-content-type-options', 'x-frame-options', 'referrer-policy']

export async function consoleOf(config: Config, say: Say): Promise<void> {
  addresses(config, say)
  const { main } = config.public
  const page = await answerOfUrl(`${main}/console/sign-in`, { accept: 'text/html' })
  if (typeof page === 'string')
    return say(
      'page',
      'problem',
      `${main} cannot be reached from here: ${page}`,
      'does it run, with its proxy? From elsewhere: gateway doctor --public',
    )
  if (page.status !== 200 || page.headers.get('content-type')?.startsWith('text/html') !== true)
    return say(
      'page',
      'problem',
      `${main}/console/sign-in answers ${page.status}, and no page of the console`,
      'is public.main right, and does it lead to the main listener?',
    )
  const lost = GUARDS.filter(name => page.headers.get(name) === null)
  if (lost.length === 0) say('page', 'ok', `${main}/console/sign-in comes with all headers that protect it`)
  else
    say(
      'page',
      'problem',
      `pages lose headers on the way: ${lost.join(', ')}`,
      'let the proxy pass all headers of answers',
    )
  await cookies(config, say)
}

function addresses({ public: { main, direct, given } }: Config, say: Say): void {
  for (const [name, address] of [
    ['main', main],
    ['direct', direct],
  ] as const) {
    const { protocol, hostname } = new URL(address)
    const isHere = isLoopback(hostname)
    if (protocol === 'https:') say(`${name} address`, 'ok', address)
    else if (!isHere)
      say(
        `${name} address`,
        'problem',
        `${address} is without encryption: passwords and keys can be read on the way`,
        `put a proxy with TLS in front, and set public.${name} to its https address (docs/proxy.md)`,
      )
    else if (!given && name === 'main')
      say(
        `${name} address`,
        'warning',
        `${address}: links in pages and mails lead nowhere for others`,
        'set public.main to the https address of the console',
      )
    else
      say(
        `${name} address`,
        'warning',
        `${address} is for people on this machine only`,
        `set public.${name} to an https address`,
      )
  }
}

async function cookies({ public: { main }, secret }: Config, say: Say): Promise<void> {
  if (secret === '') return
  const answer = await answerOfUrl(`${main}${PROBE_PATH}echo?cookie=1`, {
    [PROBE_HEADER]: probeToken(secret, Date.now()),
  })
  if (typeof answer === 'string' || answer.status !== 200)
    return say(
      'cookies',
      'problem',
      `${main} leads to no gateway with this secret`,
      'does the address lead to a gateway with the same `secret`?',
    )
  const [came = ''] = answer.headers.getSetCookie()
  const wanted = partsOf(probeCookie(main))
  const arrived = new Set(partsOf(came))
  const lost = wanted.filter(part => !arrived.has(part))
  const added = [...arrived].filter(part => !wanted.includes(part))
  if (lost.length > 0 || added.length > 0)
    say(
      'cookies',
      'problem',
      `cookies are changed on the way: ${[...lost.map(part => `without ${part}`), ...added.map(part => `with ${part}`)].join(', ')}`,
      'let the proxy pass set-cookie as it is (nginx: no proxy_cookie_domain, proxy_cookie_flags or proxy_cookie_path)',
    )
  else if (main.startsWith('https:'))
    say('cookies', 'ok', 'they arrive for this host only, Secure, HttpOnly and SameSite=Lax')
  else
    say(
      'cookies',
      'warning',
      'they arrive HttpOnly and SameSite=Lax, and without Secure, because public.main is not https',
      'set public.main to an https address',
    )
}

const partsOf = (line: string): string[] => line.split(';').map(part => part.trim().toLowerCase())

/** The answer, or why there is none. */
export const answerOfUrl = (url: string, headers: Record<string, string>, body?: string): Promise<Response | string> =>
  fetch(url, {
    method: body === undefined ? 'GET' : 'POST',
    redirect: 'manual',
    headers: { accept: '*/*', 'accept-language': 'en', ...headers },
    signal: AbortSignal.timeout(WAIT_MS),
    ...(body === undefined ? {} : { body }),
  }).catch((error: Error) => {
    const { code, message } = (error.cause ?? error) as NodeJS.ErrnoException
    return code ?? message
  })
