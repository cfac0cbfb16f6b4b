/** Pages with nothing of their own: lists and messages. */

import { chrome } from "./chrome";
import { showStanding } from "./standing";
import { openStore } from "./store/database";

chrome();
void openStore().then((store) => showStanding(store, () => {}));
