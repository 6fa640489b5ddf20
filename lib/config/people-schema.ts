/** The sections of the config that are about people: who may register, how mail is sent, who else may vouch for a person. */
import { z } from 'zod'
import * as address from './addresses.ts'
import { rate } from './rate.ts'
import * as kind from './scalars.ts'
import { canonicalEmail } from '../base/people.ts'
import type { Rate } from '../terms/records.ts'
import type { Source } from './yaml.ts'

export const REGISTRATION_MODES = ['closed', 'invite', 'open'] as const
const SECURITIES = ['starttls', 'tls', 'none'] as const

export interface PeopleConfig {
  /** Who becomes a user, and what the account of somebody who registered may do. `rate` null = that of its groups. */
  registration: { mode: (typeof REGISTRATION_MODES)[number]; groups: string[]; rate: Rate | null }
  /** null = no mail is sent. */
  smtp: {
    host: string
    port: number
    security: (typeof SECURITIES)[number]
    user: string | null
    password: string | null
    from: string
  } | null
  /** null = there is no OpenID provider. */
  oidc: { issuer: string; name: string; clientId: string; clientSecret: string; scopes: string[] } | null
}

const registration = {
  mode: kind
    .oneOf(...REGISTRATION_MODES)
    .prefault('closed')
    .meta({
      description:
        'Who can become a user. `closed`: whom an operator invites. `invite`: also whom the owner of an account invites; without `smtp` nobody proves the e-mail of such a user. `open`: everybody who proves an e-mail, which needs `smtp`.',
    }),
  groups: z
    .array(kind.name)
    .prefault(['default'])
    .meta({ description: 'Groups of the account that somebody gets who registers.' }),
  rate: rate.optional().meta({ description: 'Rate limit of such an account. Default: that of its groups.' }),
}

const mailAddress = kind.scalar('an e-mail address, or a name and an address in <>', { type: 'string' }, value => {
  const m = kind.matched(/^(?:[^<>\r\n"]{1,100}<([^<>\s]+)>|([^<>\s]+))$/, value)
  return m !== null && canonicalEmail(m[1] ?? m[2]) !== undefined ? (value as string) : undefined
})

const smtp = z.strictObject({
  host: kind.text('the name of a host').meta({ description: 'Host of the mail server.' }),
  port: kind.whole(1, 65_535).prefault(587).meta({ description: 'Its port.' }),
  security: kind
    .oneOf(...SECURITIES)
    .prefault('starttls')
    .meta({
      description:
        '`starttls`: the connection must become encrypted before anything is said. `tls`: it is from the beginning. `none`: only for a server on this machine.',
    }),
  user: kind.text('a user name').optional().meta({ description: 'User of the mail server. Default: none.' }),
  password: kind
    .secret('a password', /^[ -~]+$/)
    .optional()
    .meta({ description: 'Password of that user.' }),
  from: mailAddress.meta({ description: 'Sender of the mails.' }),
})

const oidc = z.strictObject({
  issuer: address.webAddress.meta({
    description: 'URL of the OpenID provider, below which `/.well-known/openid-configuration` is found.',
  }),
  name: kind.name.prefault('OpenID').meta({ description: 'What the button for signing in says.' }),
  client_id: kind.text('a client id').meta({ description: 'The id that the provider knows the gateway by.' }),
  client_secret: kind.secret('a client secret', /^[!-~]+$/).meta({ description: 'The secret that belongs to it.' }),
  scopes: z
    .array(kind.text('a scope'))
    .prefault(['openid', 'email', 'profile'])
    .meta({ description: 'What the provider is asked for; `openid` must be among them.' }),
})

/** The sections, for the schema of the whole file. */
export const peopleSections = {
  registration: z
    .strictObject(registration)
    .prefault({})
    .meta({ description: 'Who can become a user of the console.' }),
  smtp: smtp.optional().meta({
    description: 'The mail server by which addresses are proven and passwords reset. Default: no mail is sent.',
  }),
  oidc: oidc.optional().meta({ description: 'An OpenID provider by which people may sign in. Default: none.' }),
}

type Form = z.output<z.ZodObject<typeof peopleSections>>

export function toPeopleConfig({ registration, smtp, oidc }: Form): PeopleConfig {
  return {
    registration: { ...registration, rate: registration.rate ?? null },
    smtp: smtp === undefined ? null : { ...smtp, user: smtp.user ?? null, password: smtp.password ?? null },
    oidc:
      oidc === undefined
        ? null
        : {
            issuer: oidc.issuer,
            name: oidc.name,
            clientId: oidc.client_id,
            clientSecret: oidc.client_secret,
            scopes: oidc.scopes,
          },
  }
}

/** What is wrong between the sections. */
export function checkPeople(form: Form, source: Source): void {
  if (form.registration.mode === 'open' && form.smtp === undefined)
    source.problem(['registration', 'mode'], 'the section smtp beside `open`, because addresses are proven by mail')
  if (form.oidc !== undefined && !form.oidc.scopes.includes('openid'))
    source.problem(['oidc', 'scopes'], 'openid among the scopes')
}

/** What is allowed, and leaves something to people that they may take for certain. */
export const peopleWarnings = ({ registration, smtp }: PeopleConfig): string[] =>
  registration.mode === 'invite' && smtp === null
    ? ['registration.mode: `invite` without smtp: the e-mail of a user is what the owner of an account has written']
    : []
