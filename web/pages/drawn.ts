/** Pages that can be read without a script: the server writes them out, with their data in the document. */
import type { Page } from '../base/page.ts'
import type { PageName } from '../shared/sitemap.ts'
import apiReference from './api-reference.ts'
import connect from './connect.ts'
import home from './home.ts'
import missing from './missing.ts'
import model from './model.ts'
import models from './models.ts'
import status from './status.ts'

export const DRAWN: Partial<Record<PageName, Page<never>>> = {
  'api-reference': apiReference,
  connect,
  home,
  missing,
  model,
  models,
  status,
}
